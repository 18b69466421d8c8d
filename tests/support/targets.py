"""How a benchmark says what it measured: the figure, what was aimed at, and whether it was met."""


def tell(what: str, figure: float, at_most: float) -> None:
    """Print a figure beside its target; a benchmark measures, it does not fail."""
    verdict = "met" if figure <= at_most else "NOT MET"
    print(f"{what}: {figure:.3g}, aimed at {at_most:.3g} at most: {verdict}")
