//! Sorting processes by number when they are in the order of their births.

/// Sorts the pairs in `order` by their first part, the number of a process or thread; fast if the
/// pairs are in the order of births. There numbers ascend except where they began anew, so that
/// there are a few ascending runs. `room` is for merging, and is kept for its allocation.
pub(super) fn sort_by_number(order: &mut Vec<(u32, u32)>, room: &mut Vec<(u32, u32)>) {
    let turn = |list: &[(u32, u32)]| {
        let ahead = list.windows(2).position(|pair| pair.first() > pair.last());
        ahead.map_or(list.len(), |last| last + 1)
    };
    while turn(order) < order.len() {
        // Each pass merges the runs by two: as many passes as the number of
        // runs has binary digits.
        room.clear();
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (mut one, behind) = rest.split_at(turn(rest));
            let (mut other, behind) = behind.split_at(turn(behind));
            rest = behind;
            while let ([a, after_a @ ..], [b, after_b @ ..]) = (one, other) {
                if a <= b {
                    room.push(*a);
                    one = after_a;
                } else {
                    room.push(*b);
                    other = after_b;
                }
            }
            room.extend_from_slice(one);
            room.extend_from_slice(other);
        }
        std::mem::swap(order, room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn births_are_sorted_by_number() {
        let mut room = Vec::new();
        for numbers in [
            &[][..],
            &[4],
            &[1, 2, 9],
            &[7, 9, 1, 3],
            &[9, 1],
            &[2, 9, 1, 5, 3, 4],
            &[3, 3, 1, 3],
            &[9, 7, 5, 3, 1],
        ] {
            let mut order: Vec<_> = numbers.iter().copied().zip(0..).collect();
            let mut expected = order.clone();
            expected.sort_unstable();
            sort_by_number(&mut order, &mut room);
            assert_eq!(order, expected);
        }
    }
}
