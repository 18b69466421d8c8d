"""Who thinks: with a language model or without."""
