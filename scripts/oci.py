"""Image layouts, as far as this project's scripts need them: layers that come out the same from the same files, a folder of blobs, and
how one is pushed to a registry."""
import hashlib, io, json, os, pathlib, subprocess, tarfile, urllib.request

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
COMPRESSORS = {"": None, "+gzip": ["gzip", "-n6"], "+zstd": ["zstd", "-q", "-3", "-T0"]}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def rewrite(source, target, leave_out=lambda name: False, files=(), links=()):
    """Copies an archive without what a machine put into it, such as times and names of users. `files` are (name, content, mode, uid)."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    added = {name for name, *_ in files} | {name for name, _ in links}
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as to:
        def add(entry, content=None):
            entry.mtime, entry.uname, entry.gname, entry.pax_headers = epoch, "", "", {}
            to.addfile(entry, content)

        if source:
            with tarfile.open(source) as old:
                entries = {entry.name.removeprefix("./").rstrip("/"): entry for entry in old}
                for name, entry in sorted(entries.items()):
                    if name in ("", ".") or leave_out(name) or name in added or entry.ischr() or entry.isblk():
                        continue
                    content = old.extractfile(entry) if entry.isreg() else None
                    entry.name = name
                    if entry.islnk():
                        entry.linkname = entry.linkname.removeprefix("./")
                    add(entry, content)
        for name, content, mode, uid in files:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.gid = mode, uid, uid
            if content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            add(entry, None if content is None else io.BytesIO(content))
        for name, leads_to in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, leads_to
            add(entry)


def write_layout(folder, archives, compression, settings):
    """Makes `folder` the layout of an image of these archives, the lowest first, and returns its manifest's digest."""
    blobs = pathlib.Path(folder, "blobs/sha256")
    blobs.mkdir(parents=True, exist_ok=True)

    def store(data):
        (blobs / digest(data)[7:]).write_bytes(data)
        return {"digest": digest(data), "size": len(data)}

    layers, plain = [], []
    for archive in archives:
        data = pathlib.Path(archive).read_bytes()
        plain.append(digest(data))
        if COMPRESSORS[compression]:
            data = subprocess.run(COMPRESSORS[compression], input=data, stdout=subprocess.PIPE, check=True).stdout
        layers.append({"mediaType": LAYER + compression, **store(data)})
    platform = {"architecture": ARCHITECTURES[os.uname().machine], "os": "linux"}
    config = {**platform, "config": settings, "rootfs": {"type": "layers", "diff_ids": plain}}
    config = {"mediaType": CONFIG, **store(json.dumps(config, sort_keys=True).encode())}
    manifest = store(json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}).encode())
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{"mediaType": MANIFEST, **manifest, "platform": platform}]}
    pathlib.Path(folder, "index.json").write_text(json.dumps(index))
    pathlib.Path(folder, "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return manifest["digest"]


def push(folder, registry, name, tag):
    """Pushes the image of a layout to a registry that asks for no login, and returns its reference by digest."""
    def call(method, url, data, kind="application/octet-stream"):
        request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": kind})
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120)

    def blob(wanted):
        return pathlib.Path(folder, "blobs", wanted["digest"].replace(":", "/")).read_bytes()

    [listed] = json.loads(pathlib.Path(folder, "index.json").read_text())["manifests"]
    manifest = json.loads(blob(listed))
    for one in [manifest["config"], *manifest["layers"]]:
        place = call("POST", f"http://{registry}/v2/{name}/blobs/uploads/", b"").headers["Location"]
        call("PUT", f"{place}{'&' if '?' in place else '?'}digest={one['digest']}", blob(one))
    call("PUT", f"http://{registry}/v2/{name}/manifests/{tag}", blob(listed), MANIFEST)
    return f"{registry}/{name}@{listed['digest']}"
