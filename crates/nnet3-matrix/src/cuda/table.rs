//! Device copies of host values: tables, and sums that have not been fetched yet.

use super::GpuBackend;
use super::engine::Engine;
use super::launch::each_sum;
use super::op::Arg;
use super::queue::Queue;
use crate::memory::{Accumulator, IndexTable, OffsetTable, Remote, RemoteSums};
use std::sync::Arc;

/// Device memory that is freed with its owner.
pub(super) struct Block<E: Engine> {
    queue: Queue<E>,
    pub address: u64,
    pub bytes: u64,
}

impl<E: Engine> Block<E> {
    /// Makes a block of zeros. A block of no bytes gets one byte, because a device has no address for an empty block.
    pub fn new(queue: &Queue<E>, bytes: u64) -> Block<E> {
        let bytes = bytes.max(1);
        let address = queue.lock().allocate(bytes);
        Block { queue: queue.clone(), address, bytes }
    }

    fn upload(&self, bytes: &[u8]) {
        self.queue.lock().upload(self.address, bytes)
    }
}

impl<E: Engine> Drop for Block<E> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.queue.lock().free(self.address, self.bytes)
        }
    }
}

/// A copy of a table's numbers, and the bounds needed to check them.
struct Copy<E: Engine> {
    block: Block<E>,
    /// Smallest and largest number; 0 and -1 if there are none.
    least: i64,
    most: i64,
}

impl<E: Engine> Copy<E> {
    fn new(queue: &Queue<E>, bytes: Vec<u8>, numbers: impl Iterator<Item = i64> + Clone) -> Copy<E> {
        let block = Block::new(queue, bytes.len() as u64);
        block.upload(&bytes);
        let least = numbers.clone().min().unwrap_or(0);
        Copy { block, least, most: numbers.max().unwrap_or(-1) }
    }
}

/// Numbers that a device keeps as long as this lives.
pub(super) struct Numbers<E: Engine> {
    block: Block<E>,
    arg: fn(u64) -> Arg,
}

impl<E: Engine> Numbers<E> {
    pub(super) fn ints(queue: &Queue<E>, numbers: &[i32]) -> Numbers<E> {
        Numbers::of(queue, &bytes_of(numbers), Arg::Ints)
    }

    pub(super) fn longs(queue: &Queue<E>, numbers: &[i64]) -> Numbers<E> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Numbers::of(queue, &bytes, Arg::Longs)
    }

    fn of(queue: &Queue<E>, bytes: &[u8], arg: fn(u64) -> Arg) -> Numbers<E> {
        let block = Block::new(queue, bytes.len() as u64);
        block.upload(bytes);
        Numbers { block, arg }
    }

    pub(super) fn arg(&self) -> Arg {
        (self.arg)(self.block.address)
    }
}

fn bytes_of(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// For each column of a destination the columns of the source that are added to it.
struct Sources<E: Engine> {
    cols: usize,
    starts: Copy<E>,
    list: Copy<E>,
}

struct Sums<E: Engine> {
    block: Block<E>,
    device: u32,
    len: usize,
}

impl<E: Engine> RemoteSums for Sums<E> {
    fn device(&self) -> u32 {
        self.device
    }
    fn address(&self) -> u64 {
        self.block.address
    }
    fn len(&self) -> usize {
        self.len
    }
    fn read(&self, len: usize) -> Vec<f64> {
        assert!(len <= self.len, "{len} of {} sums", self.len);
        let mut bytes = vec![0; 8 * len];
        self.block.queue.lock().download(self.block.address, &mut bytes);
        bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
    }
    fn write(&self, values: &[f64]) {
        assert_eq!(values.len(), self.len, "sums");
        self.block.upload(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
    }
    fn scale(&self, factor: f64) {
        let args = [Arg::Doubles(self.block.address), Arg::Int(self.len as i32), Arg::Double(factor)];
        each_sum(&self.block.queue, "scale_sums", self.len, &args);
    }
    fn add(&self, alpha: f64, address: u64) {
        let own = Arg::Doubles(self.block.address);
        let args = [own, Arg::Doubles(address), Arg::Int(self.len as i32), Arg::Double(alpha)];
        each_sum(&self.block.queue, "add_sums", self.len, &args);
    }
    fn zeros(&self) -> Box<dyn RemoteSums> {
        Box::new(Sums { block: Block::new(&self.block.queue, 8 * self.len as u64), ..*self })
    }
}

impl<E: Engine> GpuBackend<E> {
    fn copy_of(&self, remote: &Remote, numbers: &[i32]) -> Arc<Copy<E>> {
        remote.get(self.id, || Copy::new(&self.queue, bytes_of(numbers), numbers.iter().map(|&n| n as i64)))
    }

    /// The device's copy of a table of numbers from -1 to below `limit`.
    #[track_caller]
    pub(super) fn indexes(&self, table: &IndexTable, limit: usize, what: &str) -> u64 {
        let copy = self.copy_of(table.remote(), table.values());
        assert!(copy.least >= -1 && copy.most < limit as i64, "{what} {} of {limit}", copy.most);
        copy.block.address
    }

    /// The device's copy of a table of begins and ends, of ranges up to `limit`.
    #[track_caller]
    pub(super) fn ranges(&self, table: &IndexTable, limit: usize) -> u64 {
        let copy = self.copy_of(table.remote(), table.values());
        assert!(copy.least >= -1 && copy.most <= limit as i64, "a range to {} of {limit}", copy.most);
        copy.block.address
    }

    /// The device's copy of a table of places of `cols` elements in an arena of `len`.
    #[track_caller]
    pub(super) fn places(&self, table: &OffsetTable, cols: usize, len: usize) -> u64 {
        let copy: Arc<Copy<E>> = table.remote().get(self.id, || {
            let bytes = table.values().iter().flat_map(|n| n.to_le_bytes()).collect();
            Copy::new(&self.queue, bytes, table.values().iter().copied())
        });
        assert!(
            copy.least >= -1 && (copy.most < 0 || copy.most as usize + cols <= len),
            "{cols} elements at {} of an arena of {len}",
            copy.most
        );
        copy.block.address
    }

    /// Returns the inverse of a table from source columns to `cols` columns: the beginning of each column's list, and
    /// the lists.
    #[track_caller]
    pub(super) fn sources_of_columns(&self, table: &IndexTable, cols: usize) -> (u64, u64) {
        let inverse: Arc<Sources<E>> = table.remote().get(self.id, || {
            let mut lists = vec![Vec::new(); cols];
            for (source, &col) in table.values().iter().enumerate().filter(|(_, col)| **col != -1) {
                let list = usize::try_from(col).ok().and_then(|col| lists.get_mut(col));
                list.unwrap_or_else(|| panic!("column {col} of {cols}")).push(source as i32);
            }
            let ends = lists.iter().scan(0, |end, list| {
                *end += list.len() as i32;
                Some(*end)
            });
            let starts: Vec<i32> = std::iter::once(0).chain(ends).collect();
            let copy = |numbers: &[i32]| Copy::new(&self.queue, bytes_of(numbers), std::iter::empty());
            Sources { cols, starts: copy(&starts), list: copy(&lists.concat()) }
        });
        assert_eq!(inverse.cols, cols, "columns for a table that was used with another number of them");
        (inverse.starts.block.address, inverse.list.block.address)
    }

    /// Device address to which this device adds these sums.
    pub(super) fn sums_of(&self, sums: &mut Accumulator) -> u64 {
        sums.on_device(self.id, |len| self.new_sums(len))
    }

    /// Device address of the sums, after pending additions are flushed.
    pub(super) fn whole_sums_of(&self, sums: &mut Accumulator) -> u64 {
        sums.whole_on_device(self.id, |len| self.new_sums(len))
    }

    fn new_sums(&self, len: usize) -> Box<dyn RemoteSums> {
        let block = Block::new(&self.queue, 8 * len as u64);
        Box::new(Sums { block, device: self.id, len })
    }
}
