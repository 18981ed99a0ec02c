"""Pure views of a log: each folds events, one at a time, into something to show."""
