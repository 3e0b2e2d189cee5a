//! The path of a text log's column.

/// The parts of a column's path: `\\MACHINE\Object(Instance)\Counter`.
pub(super) struct Parts<'a> {
    pub(super) machine: &'a str,
    pub(super) object: &'a str,
    pub(super) instance: Option<&'a str>,
    pub(super) counter: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let (machine, rest) = match path.strip_prefix("\\\\") {
            Some(rest) => rest.split_once('\\')?,
            // A log of one machine may leave the machine out.
            None => ("localhost", path.strip_prefix('\\')?),
        };
        // An instance may hold backslashes, and a counter parentheses: `Avg. (ms)`. Those of an object without
        // instances, as in `My (odd) Object`, are not in front of a backslash.
        let open =
            rest.find('(').filter(|open| rest.get(..*open).is_some_and(|o| !o.contains('\\')));
        let close = rest.rfind(")\\");
        let instance = open.zip(close).filter(|(open, close)| close > open);
        let (object, instance, counter) = match instance {
            Some((open, close)) => {
                (rest.get(..open)?, Some(rest.get(open + 1..close)?), rest.get(close + 2..)?)
            }
            None => {
                let (object, counter) = rest.split_once('\\')?;
                (object, None, counter)
            }
        };
        let is_whole = !machine.is_empty() && !object.is_empty() && !counter.is_empty();
        is_whole.then_some(Self { machine, object, instance, counter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_columns_are_taken_apart() {
        let of = |path| {
            let parts = Parts::of(path)?;
            Some((parts.machine, parts.object, parts.instance, parts.counter))
        };
        assert_eq!(
            of(r"\\BOX\Process(csrss#1)\% Processor Time"),
            Some(("BOX", "Process", Some("csrss#1"), "% Processor Time"))
        );
        assert_eq!(
            of(r"\\BOX\Network Interface(Intel[R] PRO (1000) \ 2)\Bytes (total)"),
            Some(("BOX", "Network Interface", Some(r"Intel[R] PRO (1000) \ 2"), "Bytes (total)"))
        );
        assert_eq!(of(r"\Memory\A (b)"), Some(("localhost", "Memory", None, "A (b)")));
        assert_eq!(of(r"\\BOX\My (odd) Object\A"), Some(("BOX", "My (odd) Object", None, "A")));
        for bad in ["", "x", r"\\BOX", r"\\BOX\Memory", r"\\BOX\(a)\b", r"\\\a\b"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
