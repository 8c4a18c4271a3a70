// Rewritten by the command that recomputes a sample of cells on this machine.
window.dpbayesChecked = { sentence: null, rows: [] };
