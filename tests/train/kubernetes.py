#!/usr/bin/env python3
"""A stand-in for a Kubernetes cluster: as much of the API as kubectl asks for when scripts/k8s.sh calls it, on a port of this machine.

Pods are processes of this machine. Like a cluster it refuses Jobs with fields that it does not know, runs as many pods of
a Job at a time as `parallelism` and its processors allow, ends pods with a signal, and shows a pod only what its volumes mount: a
pod whose folder or command lies elsewhere fails. Images are not looked at, but for the name "missing", which is never found.

usage: kubernetes.py PROCESSORS   (prints the port)
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

RESOURCES = {
    "v1": [{"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}],
    "batch/v1": [{"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job", "verbs": ["create", "delete", "get", "list"]}],
}
# The fields of a Job that this cluster knows, by the path to them; [] stands for the elements of a list.
TEXT, NUMBER, ANY = str, int, object
FIELDS = {
    "apiVersion": TEXT, "kind": TEXT, "metadata.name": TEXT, "metadata.labels.*": TEXT,
    "spec.completions": NUMBER, "spec.parallelism": NUMBER, "spec.completionMode": TEXT, "spec.backoffLimitPerIndex": NUMBER,
    "spec.ttlSecondsAfterFinished": NUMBER, "spec.template.metadata.labels.*": TEXT, "spec.template.spec.restartPolicy": TEXT,
    "spec.template.spec.activeDeadlineSeconds": NUMBER, "spec.template.spec.securityContext.runAsUser": NUMBER,
    "spec.template.spec.securityContext.runAsGroup": NUMBER, "spec.template.spec.nodeSelector.*": TEXT,
    "spec.template.spec.volumes[].name": TEXT, "spec.template.spec.volumes[].persistentVolumeClaim.claimName": TEXT,
    "spec.template.spec.volumes[].nfs.server": TEXT, "spec.template.spec.volumes[].nfs.path": TEXT,
    "spec.template.spec.volumes[].hostPath.path": TEXT, "spec.template.spec.volumes[].hostPath.type": TEXT,
    "spec.template.spec.containers[].name": TEXT, "spec.template.spec.containers[].image": TEXT,
    "spec.template.spec.containers[].command[]": TEXT, "spec.template.spec.containers[].workingDir": TEXT,
    "spec.template.spec.containers[].volumeMounts[].name": TEXT, "spec.template.spec.containers[].volumeMounts[].mountPath": TEXT,
    "spec.template.spec.containers[].resources.requests.*": TEXT, "spec.template.spec.containers[].resources.limits.*": TEXT,
}  # fmt: skip
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|[KMGT]i?|k)?")
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Refused(Exception):
    pass


def leaves(value, path=""):
    """All values with their paths, as FIELDS has them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            known = f"{path}.{key}".lstrip(".")
            anything = f"{path}.*".lstrip(".")
            yield from leaves(inner, anything if anything in FIELDS else known)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def check(job):
    for path, value in leaves(job):
        if path not in FIELDS:
            raise Refused(f'strict decoding error: unknown field "{path}"')
        if not isinstance(value, FIELDS[path]):
            raise Refused(f"{path}: expected {FIELDS[path].__name__}, found {value!r}")
    if not NAME.fullmatch(job["metadata"]["name"]):
        raise Refused(f"metadata.name: Invalid value: {job['metadata']['name']!r}")
    for label in job["metadata"]["labels"].values():
        if not NAME.fullmatch(label):
            raise Refused(f"metadata.labels: Invalid value: {label!r}")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    requests, limits = container["resources"]["requests"], container["resources"]["limits"]
    for name, quantity in [*requests.items(), *limits.items()]:
        if not QUANTITY.fullmatch(quantity):
            raise Refused(f"resources: {name}: quantities must match the regular expression, found {quantity!r}")
    if pod["restartPolicy"] not in ("Never", "OnFailure"):
        raise Refused("spec.template.spec.restartPolicy: Unsupported value")
    if job["spec"]["completionMode"] != "Indexed":
        raise Refused("spec.backoffLimitPerIndex: needs completionMode Indexed")
    if {mount["name"] for mount in container["volumeMounts"]} != {volume["name"] for volume in pod["volumes"]}:
        raise Refused("volumeMounts: not found in volumes")


class Job:
    """A Job and its pods. `outcome` has the exit statuses of those indexes that have ended."""

    def __init__(self, manifest):
        self.manifest = manifest
        self.pods, self.outcome, self.deadlines = {}, {}, {}
        self.spec = manifest["spec"]
        self.pod = self.spec["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.processors = int(self.container["resources"]["requests"]["cpu"])

    @property
    def labels(self):
        return self.manifest["metadata"]["labels"] | {"job-name": self.manifest["metadata"]["name"]}

    def sees(self, path):
        mounts = (mount["mountPath"].rstrip("/") + "/" for mount in self.container["volumeMounts"])
        return any((path + "/").startswith(mount) for mount in mounts)

    def start(self, index):
        seen = [self.container["workingDir"], self.container["command"][-1]]
        if not all(map(self.sees, seen)):
            self.outcome[index] = 127
            return
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "JOB_COMPLETION_INDEX": str(index)}
        self.pods[index] = subprocess.Popen(self.container["command"], cwd=self.container["workingDir"], env=environment,
                                            stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        if "activeDeadlineSeconds" in self.pod:
            self.deadlines[index] = time.monotonic() + self.pod["activeDeadlineSeconds"]

    def reap(self):
        for index, process in list(self.pods.items()):
            if index in self.deadlines and time.monotonic() > self.deadlines[index]:
                process.terminate()
            if process.poll() is not None:
                self.outcome[index] = process.returncode
                del self.pods[index]

    def stop(self):
        for process in self.pods.values():
            process.terminate()

    def is_waiting_for_its_image(self):
        return self.container["image"] == "missing"

    def next_index(self):
        if self.is_waiting_for_its_image() or len(self.pods) >= self.spec["parallelism"]:
            return None
        return next((i for i in range(self.spec["completions"]) if i not in self.pods and i not in self.outcome), None)

    def to_json(self):
        status = {"active": len(self.pods), "succeeded": sum(s == 0 for s in self.outcome.values())}
        if len(self.outcome) == self.spec["completions"]:
            kind = "Failed" if any(self.outcome.values()) else "Complete"
            status["conditions"] = [{"type": kind, "status": "True"}]
        return self.manifest | {"status": status}

    def pods_to_json(self):
        waiting = {"waiting": {"reason": "ImagePullBackOff"}} if self.is_waiting_for_its_image() else {"running": {}}
        indexes = range(self.spec["completions"]) if self.is_waiting_for_its_image() else self.pods
        return [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{self.manifest['metadata']['name']}-{index}-x"},
                 "status": {"containerStatuses": [{"state": waiting}]}} for index in indexes]  # fmt: skip


class Cluster:
    def __init__(self, processors):
        self.processors, self.jobs, self.leaving, self.lock = processors, {}, [], threading.Lock()

    def run(self):
        while True:
            with self.lock:
                for job in [*self.jobs.values(), *self.leaving]:
                    job.reap()
                self.leaving = [job for job in self.leaving if job.pods]
                self.start_pods()
            time.sleep(0.05)

    def start_pods(self):
        for job in self.jobs.values():
            while (index := job.next_index()) is not None:
                used = sum(len(other.pods) * other.processors for other in [*self.jobs.values(), *self.leaving])
                if used + job.processors > self.processors:
                    return
                job.start(index)

    def create(self, manifest):
        check(manifest)
        name = manifest["metadata"]["name"]
        if name in self.jobs:
            raise Refused(f'jobs.batch "{name}" already exists')
        self.jobs[name] = Job(manifest)

    def delete(self, names):
        for name in names:
            job = self.jobs.pop(name)
            job.stop()
            self.leaving.append(job)

    def chosen(self, selector):
        wanted = dict(pair.split("=") for pair in selector.split(",") if pair)
        return {name: job for name, job in self.jobs.items() if wanted.items() <= job.labels.items()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value, code=200):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, reason, message):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}, code)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle_request(self):
        url = urlparse(self.path)
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        body = self.body()
        parts = url.path.strip("/").split("/")
        with self.server.cluster.lock:
            try:
                if "namespaces" in parts:
                    where = parts.index("namespaces")
                    self.resource(parts[where + 2], parts[where + 3 :], query, body)
                else:
                    self.discovery(parts)
            except Refused as error:
                self.refuse(400, "BadRequest", str(error))

    do_GET = do_POST = do_DELETE = handle_request

    def log_message(self, *_):
        pass

    def discovery(self, parts):
        batch = {"groupVersion": "batch/v1", "version": "v1"}
        group = {"name": "batch", "versions": [batch], "preferredVersion": batch}
        version = "v1" if parts[:1] == ["api"] else "/".join(parts[1:])
        if parts == ["version"]:
            self.answer({"major": "1", "minor": "32", "gitVersion": "v1.32.0"})
        elif parts == ["api"]:
            self.answer({"kind": "APIVersions", "versions": ["v1"]})
        elif parts == ["apis"]:
            self.answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]})
        elif version in RESOURCES:
            self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": RESOURCES[version]})
        else:
            self.refuse(404, "NotFound", "the server could not find the requested resource")

    def resource(self, kind, names, query, body):
        cluster = self.server.cluster
        if self.command == "POST":
            if self.headers.get("Content-Type", "application/json") != "application/json" or query.get("fieldValidation") != "Strict":
                raise Refused(f"expected JSON, and unknown fields to be refused; found {self.headers} {query}")
            cluster.create(json.loads(body))
            self.answer(json.loads(body), 201)
        elif kind == "pods":
            pods = [pod for job in cluster.chosen(query.get("labelSelector", "")).values() for pod in job.pods_to_json()]
            self.answer({"kind": "PodList", "apiVersion": "v1", "items": pods})
        elif names and names[0] not in cluster.jobs:
            self.refuse(404, "NotFound", f'jobs.batch "{names[0]}" not found')
        elif self.command == "DELETE":
            cluster.delete(names or list(cluster.chosen(query.get("labelSelector", ""))))
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})
        elif names:
            self.answer(cluster.jobs[names[0]].to_json())
        else:
            jobs = [job.to_json() for job in cluster.chosen(query.get("labelSelector", "")).values()]
            self.answer({"kind": "JobList", "apiVersion": "batch/v1", "items": jobs})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.cluster = Cluster(int(sys.argv[1]))
    threading.Thread(target=server.cluster.run, daemon=True).start()

    def end(*_):
        for job in [*server.cluster.jobs.values(), *server.cluster.leaving]:
            job.stop()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
