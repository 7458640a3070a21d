//! Things sorted into numbered buckets, in one flat list.

/// The things of each bucket, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets<T> {
    /// `starts[b] .. starts[b + 1]` is the range of bucket b; there is one more entry at the end.
    starts: Vec<u32>,
    things: Vec<T>,
}

impl<T: Copy> Buckets<T> {
    /// Sorts `things`, pairs of a bucket number (below `count`) and a value.
    pub fn new(count: usize, things: &[(u32, T)]) -> Buckets<T> {
        let mut starts = vec![0; count + 2];
        things.iter().for_each(|&(bucket, _)| starts[bucket as usize + 2] += 1);
        (2..starts.len()).for_each(|b| starts[b] += starts[b - 1]);
        let Some(&(_, any)) = things.first() else {
            return Buckets { starts, things: Vec::new() };
        };
        // `starts[b + 1]` is the place of the next item of bucket b; at the end, the start of the next bucket.
        let mut sorted = vec![any; things.len()];
        for &(bucket, thing) in things {
            let next = &mut starts[bucket as usize + 1];
            sorted[*next as usize] = thing;
            *next += 1;
        }
        Buckets { starts, things: sorted }
    }

    pub fn of(&self, bucket: usize) -> &[T] {
        &self.things[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }

    pub fn count(&self) -> usize {
        self.starts.len() - 2
    }

    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.count()).map(|bucket| self.of(bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_keep_their_order() {
        let buckets = Buckets::new(4, &[(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd'), (2, 'a')]);
        assert_eq!(buckets.iter().collect::<Vec<_>>(), [&['b'][..], &[], &['a', 'c', 'a'], &['d']]);
        assert_eq!(buckets.of(2), ['a', 'c', 'a']);
        assert_eq!(Buckets::<u8>::new(2, &[]).iter().map(<[u8]>::len).collect::<Vec<_>>(), [0, 0]);
    }
}
