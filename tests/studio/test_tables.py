"""Tables that are sent: which column is meant, what is learnt from, and what is said of the others."""

from __future__ import annotations

from typing import Any

from studio_client import Client


def sent(client: Client, text: str) -> Any:
    status, table, _ = client.send("POST", "/api/tables?name=t.csv", text.encode())
    assert status == 200, table
    return table


def test_the_target_that_a_table_names_itself_is_taken_first(client: Client) -> None:
    rows = "\n".join(f"{i}.5,{'ab'[i % 2]},{i * i}.25" for i in range(30))
    assert sent(client, "size,kind,target\n" + rows)["target"] == "target"
    assert sent(client, "size,kind,price\n" + rows)["target"] == "kind"


def test_projections_of_categories_are_refused_in_the_page_s_own_words(client: Client) -> None:
    text = "a,b,c,kind\n" + "\n".join(f"{i}.5,{i % 7}.25,{'uv'[i % 2]},{'xy'[i % 3 == 0]}" for i in range(40))
    table = sent(client, text)
    data = {"table": table["id"], "target": "kind", "projection": "lda"}
    _, said = client.refused(f"/api/tables/{table['id']}/points", data)
    assert said.startswith("Discriminant axes are of numbers")
    assert client.post(f"/api/tables/{table['id']}/points", {**data, "only": ["a", "b"]})["x"]


WORDS = "the quick brown fox of number {} jumps over the lazy dog and runs away from {} others into the wood"


def test_columns_of_words_are_said_to_be_left_out(client: Client) -> None:
    rows = [f'{i}.5,{i % 7}.25,"{WORDS.format(i, i * i)}",{"xy"[i % 3 == 0]}' for i in range(40)]
    table = sent(client, "a,b,said,kind\n" + "\n".join(rows))
    data = {"table": table["id"], "target": "kind", "columns": ["a", "b"]}
    notes = client.post(f"/api/tables/{table['id']}/points", data)["notes"]
    assert "Not learnt from: said (text)." in notes


def test_a_table_without_a_column_to_learn_from_says_why(client: Client) -> None:
    rows = [f'"{WORDS.format(i, i * i)}",{"xy"[i % 3 == 0]}' for i in range(40)]
    table = sent(client, "said,kind\n" + "\n".join(rows))
    _, said = client.refused(f"/api/tables/{table['id']}/points", {"table": table["id"], "target": "kind"})
    assert said.startswith("There is no column to learn from: 'said' holds text")


def test_a_file_that_is_no_model_is_refused_without_the_studio_s_own_name_for_it(client: Client) -> None:
    status, found, _ = client.send("POST", "/api/models", b"a,b\n1,2\n" * 100)
    assert status == 400
    assert found["error"].startswith("The file is no model file")
    assert "studio" not in found["error"]


def test_arff_svmlight_and_office_tables_are_shown_as_what_they_mean(client: Client) -> None:
    arff = "@relation t\n@attribute a numeric\n@attribute b numeric\n@attribute kind {x,y}\n@data\n"
    table = sent(client, arff + "".join(f"{i}.5,{i % 7},{'xy'[i % 3 == 0]}\n" for i in range(40)))
    assert [c["kind"] for c in table["columns"]] == ["number", "number", "category"]
    data = {"table": table["id"], "target": "kind", "columns": ["a", "b"]}
    assert len(client.post(f"/api/tables/{table['id']}/points", data)["x"]) == 40
    svm = sent(client, "".join(f"{i % 2} 1:{i}.5 2:{i % 7 + 1}\n" for i in range(40)))
    assert (svm["target"], [c["name"] for c in svm["columns"]]) == ("target", ["target", "x1", "x2"])
    office = sent(client, "Umsatz\n\nStadt;Betrag\n" + "".join(f"{'AB'[i % 2]};{i}.250,5\n" for i in range(1, 40)))
    assert [c["kind"] for c in office["columns"]] == ["category", "number"]
