"""Räisä (2021), Differentially private MCMC (thesis): 592 box plots of penalty and Hamiltonian chains on seven
models."""
