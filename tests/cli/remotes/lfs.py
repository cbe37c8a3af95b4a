#!/usr/bin/env python3
"""As much of an LFS server as a download needs: the batch API, behind a web server that hands out the objects."""

import json
import os
import sys

wanted = json.load(sys.stdin)
scheme = "https" if os.environ.get("HTTPS") == "on" else "http"
objects = []
for entry in wanted["objects"]:
    if os.path.exists(os.path.join(os.environ["LFS_ROOT"], entry["oid"])):
        href = f"{scheme}://{os.environ['HTTP_HOST']}/objects/{entry['oid']}"
        objects.append({**entry, "actions": {"download": {"href": href}}})
    else:
        objects.append({**entry, "error": {"code": 404, "message": "Object does not exist"}})
print("Content-Type: application/vnd.git-lfs+json\r\n\r")
json.dump({"transfer": "basic", "objects": objects}, sys.stdout)
