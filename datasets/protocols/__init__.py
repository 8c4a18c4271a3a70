"""Split protocols that are no data set (a package, so that the registry of data sets passes it by)."""
