//! Recognizes containers by the paths of their groups.

use crate::parse::utf16_name;

/// The number of an identifier's digits that are shown, as many as the runtimes' own tools show.
const SHORT: usize = 12;
/// The number of digits of a full identifier.
const FULL: usize = 64;

/// The texts before the identifier in the name of a container's group, each with its runtime.
const PREFIXES: [(&[u8], &[u8]); 5] = [
    (b"docker-", b"docker"),
    (b"libpod-", b"libpod"),
    (b"cri-containerd-", b"cri-containerd"),
    (b"crio-", b"crio"),
    (b"nerdctl-", b"nerdctl"),
];

/// A container, recognized by the path of its control group.
pub(super) struct Container {
    /// The name of the instance: `runtime/identifier` or `runtime/name`.
    pub(super) name: Vec<u16>,
}

impl Container {
    /// The container with the control group of this path; `None` if the path does not look like that
    /// of a container.
    pub(super) fn of(path: &[u8]) -> Option<Self> {
        let (runtime, id) = recognise(path)?;
        let mut name = Vec::new();
        utf16_name(&[runtime, b"/", &id].concat(), &mut name);
        Some(Self { name })
    }
}

fn recognise(path: &[u8]) -> Option<(&'static [u8], Vec<u8>)> {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let last = parts.next()?;
    let above = parts.next().unwrap_or_default();
    let stem = last.strip_suffix(b".scope").unwrap_or(last);
    for (prefix, runtime) in PREFIXES {
        let id = stem.strip_prefix(prefix);
        if let Some(id) = id.filter(|id| (SHORT..=FULL).contains(&id.len()) && is_hex(id)) {
            return Some((runtime, short(id)));
        }
    }
    if above == b"buildkit" && !last.is_empty() {
        return Some((b"buildkit", short(last)));
    }
    if last.len() == FULL && is_hex(last) {
        let mut folders = path.split(|byte| *byte == b'/');
        let runtime: &[u8] = match above {
            b"docker" => b"docker",
            _ if folders.clone().any(|folder| folder.starts_with(b"kubepods")) => b"kubepods",
            _ if folders.next() == Some(b"ecs") => b"ecs",
            _ => b"container",
        };
        return Some((runtime, short(last)));
    }
    if let Some(name) = last.strip_prefix(b"lxc.payload.") {
        return named(b"lxc", name.to_vec());
    }
    if above == b"lxc" || above == b"lxc.payload" {
        return named(b"lxc", last.to_vec());
    }
    if above == b"machine.slice" {
        if let Some(name) = last.strip_prefix(b"systemd-nspawn@") {
            return named(b"nspawn", unescape(name.strip_suffix(b".service")?));
        }
        let name = last.strip_suffix(b".scope")?.strip_prefix(b"machine-")?;
        return named(b"machine", unescape(name));
    }
    None
}

fn named(runtime: &'static [u8], name: Vec<u8>) -> Option<(&'static [u8], Vec<u8>)> {
    (!name.is_empty()).then_some((runtime, name))
}

fn is_hex(id: &[u8]) -> bool {
    id.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn short(id: &[u8]) -> Vec<u8> {
    id.get(..SHORT).unwrap_or(id).to_vec()
}

/// The text with each `\xNN` replaced by the byte. systemd writes bytes that a unit's name cannot
/// have in this way.
fn unescape(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if let (b'\\', [b'x', high, low, behind @ ..]) = (first, more)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            out.push(high * 16 + low);
            rest = behind;
        } else {
            out.push(*first);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_every_runtime_give_runtime_and_id() {
        let id = "f4d3b90bea1585f216da780c97cc4675827296e1c90fdc957fb2ea0c1db85a6a";
        for (path, name) in [
            ("system.slice/docker-ID.scope", "docker/SHORT"),
            ("docker/ID", "docker/SHORT"),
            ("machine.slice/libpod-ID.scope", "libpod/SHORT"),
            ("libpod_parent/libpod-ID", "libpod/SHORT"),
            (
                "user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
                "libpod/SHORT",
            ),
            ("kubepods.slice/kubepods-podx.slice/cri-containerd-ID.scope", "cri-containerd/SHORT"),
            ("kubepods.slice/kubepods-burstable.slice/crio-ID.scope", "crio/SHORT"),
            ("kubepods/burstable/pod5f3/ID", "kubepods/SHORT"),
            ("default/nerdctl-ID", "nerdctl/SHORT"),
            ("ecs/task/ID", "ecs/SHORT"),
            ("actions_job/ID", "container/SHORT"),
            ("docker/buildkit/abcdefghijklmnopqrstuvwxy", "buildkit/abcdefghijkl"),
            ("buildkit/x1", "buildkit/x1"),
            ("lxc/web 1", "lxc/web 1"),
            ("lxc.payload.web", "lxc/web"),
            ("lxc.payload/web", "lxc/web"),
            ("machine.slice/machine-a\\x2db.scope", "machine/a-b"),
            ("machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "machine/qemu-1-vm"),
            ("machine.slice/systemd-nspawn@deb\\x2d12.service", "nspawn/deb-12"),
        ] {
            let found = Container::of(path.replace("ID", id).as_bytes());
            let found = found.map(|found| String::from_utf16(&found.name).unwrap());
            assert_eq!(found, Some(name.replace("SHORT", &id[..12])), "{path}");
        }
        for path in [
            "",
            "system.slice/docker.service",
            "system.slice/docker-abc.scope",
            "machine.slice/libpod-conmon-ID.scope",
            "kubepods.slice/crio-conmon-ID.scope",
            "kubepods/burstable/pod5f3",
            "machine.slice/machine-.scope",
            "machine.slice/other.service",
            "lxc",
            "lxc.monitor.web",
            "lxc.payload.",
            "buildkit",
            "system.slice/docker-IDID.scope",
            "xID",
        ] {
            assert!(Container::of(path.replace("ID", id).as_bytes()).is_none(), "{path}");
        }
        for (text, plain) in [("a\\x", "a\\x"), ("\\xzz", "\\xzz"), ("\\x41b", "Ab"), ("\\", "\\")]
        {
            assert_eq!(unescape(text.as_bytes()), plain.as_bytes());
        }
    }
}
