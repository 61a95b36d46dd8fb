"""An action of workflows: refuses objects that have no term in the field that the action names."""

import json
import sys

asked = json.load(sys.stdin)
field = asked["info"].get("field", "term")
for object in asked["objects"]:
    if not object[object["_objecttype"]].get(field):
        error = {"code": "vocabulary.term.missing", "statuscode": 400, "parameters": {"field": field}}
        json.dump({"error": error}, sys.stdout)
        sys.exit(0)

json.dump({"objects": []}, sys.stdout)
