"""The fusions: runs of operators to one custom operator."""
from .chain_runs import chain_runs

__all__ = ["chain_runs"]
