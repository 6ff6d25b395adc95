"""Networks of one hidden layer, whose units are lines."""

from __future__ import annotations

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.kernels import disc_and_ring, four_quarters

GROUP = "Networks"


def network_learns() -> Figure:
    return Figure(
        title="A network learns a ring",
        look=(
            "Each hidden unit is a line in the plane; the lines drift until together they fence the disc in.",
            "Two units cannot close a curve around the disc, eight can: the narrow network is left with mistakes, the wide one ends without.",
        ),
        data=disc_and_ring(),
        panels=(
            panel(
                "mlp", hidden_layer_sizes=[2], activation="tanh", learning_rate_init=0.02, batch_size=20, max_iter=150
            ),
            panel(
                "mlp", hidden_layer_sizes=[8], activation="tanh", learning_rate_init=0.02, batch_size=20, max_iter=150
            ),
        ),
        speed=20,
        show=("units", "mistakes"),
    )


def network_on_xor() -> Figure:
    return Figure(
        title="A network learns XOR",
        look=(
            "Without a hidden layer the network is a line, and XOR is beyond it.",
            "Six sigmoidal units are enough: the loss stays on a plateau at first, then falls as the units find the axes.",
        ),
        data=four_quarters(),
        panels=(
            panel("mlp", hidden_layer_sizes=[], learning_rate_init=0.03, batch_size=20, max_iter=150),
            panel(
                "mlp",
                hidden_layer_sizes=[6],
                activation="logistic",
                learning_rate_init=0.03,
                batch_size=20,
                max_iter=150,
            ),
        ),
        speed=20,
        show=("units", "mistakes"),
    )


FIGURES = {"network-ring": network_learns, "network-xor": network_on_xor}
