"""Tests in a real JupyterLab, in a real browser. A package, so that server and browser end with its last test."""
