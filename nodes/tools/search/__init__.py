"""Search services: one module for each, which knows how it is asked and what its answer looks like."""
