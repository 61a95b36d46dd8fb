"""Brings terms up to date: what the vocabulary says of them now, by their address."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    vocabulary = json.load(file)

asked = json.load(sys.stdin)
body = {}
if asked["action"] == "start_update":
    body = {"state": {"unknown": 0}, "log": [f"{len(vocabulary)} terms in the vocabulary"]}
elif asked["action"] == "update":
    state = asked["state"]
    for object in asked["objects"]:
        data = object["data"]
        term = vocabulary.get(data.get("uri"))
        if term is None:
            state["unknown"] += 1
            continue
        data.update(term)
        data["_standard"] = {"text": term["name"]}
    body = {"state": state, "payload": asked["objects"]}
elif asked["action"] == "end_update":
    body = {"log": [f"{asked['state']['unknown']} terms are not in the vocabulary"]}

json.dump({"status_code": 200, "body": body}, sys.stdout)
