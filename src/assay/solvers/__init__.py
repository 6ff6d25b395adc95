"""How a risk is made small."""
