"""Fetches 19 metrics of every process from PCP's pmdaproc, loaded into this
process (a local context, no daemon), at each line of input.

Only pmFetch is measured, which is C through and through. The argument is the
folder that PCP's packages were unpacked into. The name space is made from
pmdaproc's own list of names, the configuration from the packages' one.
"""

import ctypes
import os
import re
import sys
import time

root = sys.argv[1]
NAMES = ["proc.psinfo." + name for name in (
    "pid", "ppid", "cmd", "utime", "stime", "minflt", "maj_flt", "vsize", "threads", "start_time",
)]
NAMES += ["proc.memory." + name for name in ("size", "rss", "datrss")]
NAMES += ["proc.io." + name for name in (
    "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes",
)]

with open(root + "/usr/lib/pcp/pmns/root_proc") as file:
    text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
text = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
with open(root + "/names", "w") as file:
    file.write(text.replace("PROC:", "3:"))
with open(root + "/etc/pcp.conf") as file:
    text = re.sub(r'^(PCP_\w+="?)/', r"\1" + root + "/", file.read(), flags=re.MULTILINE)
with open(root + "/pcp.conf", "w") as file:
    file.write(text)
os.environ["PMNS_DEFAULT"] = root + "/names"
os.environ["PCP_PMDAS_DIR"] = root + "/usr/lib/pcp/pmdas"
os.environ["PCP_CONF"] = root + "/pcp.conf"

pcp = ctypes.CDLL("libpcp.so.3")
pcp.pmErrStr.restype = ctypes.c_char_p
pcp.pmSpecLocalPMDA.restype = ctypes.c_char_p


class ValueSet(ctypes.Structure):
    _fields_ = [("pmid", ctypes.c_uint), ("numval", ctypes.c_int)]


class Result(ctypes.Structure):
    _fields_ = [
        ("seconds", ctypes.c_long), ("microseconds", ctypes.c_long), ("numpmid", ctypes.c_int),
        ("sets", ctypes.POINTER(ValueSet) * len(NAMES)),
    ]


def check(code):
    if code < 0:
        sys.exit(pcp.pmErrStr(code).decode())


for what in ("clear", "add,3," + root + "/usr/lib/pcp/pmdas/proc/pmda_proc.so,proc_init"):
    error = pcp.pmSpecLocalPMDA(what.encode())
    if error:
        sys.exit(error.decode())
LOCAL = 3
check(pcp.pmNewContext(LOCAL, None))
names = (ctypes.c_char_p * len(NAMES))(*[name.encode() for name in NAMES])
metrics = (ctypes.c_uint * len(NAMES))()
check(pcp.pmLookupName(len(NAMES), names, metrics))
result = ctypes.POINTER(Result)()
for _ in sys.stdin:
    begin = time.thread_time()
    code = pcp.pmFetch(len(NAMES), metrics, ctypes.byref(result))
    end = time.thread_time()
    check(code)
    print(end - begin, min(one.contents.numval for one in result.contents.sets), flush=True)
    pcp.pmFreeResult(result)
