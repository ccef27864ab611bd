"""Tenure in the frameworks of others. Each module needs the package that it is named after."""
