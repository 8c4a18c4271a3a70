"""Laws of splits, one module each; a package, so that the scan for data sets passes it by."""
