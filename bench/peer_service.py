"""The peer of `assay serve`: a minimal FastAPI application with the same model of scikit-learn, as tutorials write it.

`python -m bench.peer_service PORT MODEL.joblib`: uvicorn with uvloop and httptools, without an access log.
"""

from __future__ import annotations

import sys
from typing import Any

import joblib
import numpy as np
import pandas as pd
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, create_model

COLUMNS = 20
app = FastAPI()
model = joblib.load(sys.argv[2]) if len(sys.argv) > 2 else None
Row: Any = create_model("Row", **{f"x{j}": (float, ...) for j in range(COLUMNS)})


class Rows(BaseModel):
    rows: list[list[float]]


@app.post("/arrays")
async def arrays(body: Rows) -> dict[str, list[int]]:
    return {"prediction": model.predict(np.array(body.rows)).tolist()}


@app.post("/objects")
async def objects(body: list[Row]) -> dict[str, list[int]]:  # type: ignore[valid-type]
    frame = pd.DataFrame([row.model_dump() for row in body])
    return {"prediction": model.predict(frame.to_numpy()).tolist()}


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="error",
    )
