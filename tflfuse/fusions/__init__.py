"""The fusions: runs of operators to one custom operator."""
