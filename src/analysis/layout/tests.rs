use proptest::prelude::*;

use super::*;

fn two() -> NonZeroUsize {
    NonZeroUsize::new(2).unwrap()
}

fn hashes(rows: &[(i32, u64, u64)]) -> KeyHashes {
    let (left, right) = rows.split_at(rows.len() / 2);
    let collectors = [left, right].map(|rows| {
        let mut collector = HashCollector::new(DEFAULT_HASHES);
        for (hash, rows, bytes) in rows {
            collector.add(*hash, *rows, *bytes).unwrap();
        }
        collector
    });
    KeyHashes::of(collectors).unwrap()
}

fn loads(rows: &[u64]) -> Vec<Load> {
    rows.iter().map(|rows| Load { rows: *rows, bytes: rows * 10 }).collect()
}

#[test]
fn the_modulus_is_not_negative() {
    // -1 mod 5 = 4; -2147483648 = -429496730·5 + 2; 2147483647 = 429496729·5 + 2.
    let rows = [(-1, 7, 70), (i32::MIN, 1, 10), (i32::MAX, 2, 20), (0, 4, 40), (-5, 8, 80)];
    let layout = hashes(&rows).layout(5, two());
    assert_eq!(layout.partitions, loads(&[12, 0, 3, 0, 7]));
    assert_eq!(layout.total(), Load { rows: 22, bytes: 220 });
    assert_eq!(layout.largest(), Some((PartitionId(0), Load { rows: 12, bytes: 120 })));
    assert_eq!(hashes(&rows).layout(1, two()).partitions, loads(&[22]));
    assert_eq!(partition_of(-1, 5), PartitionId(4));
    assert_eq!(partition_of(i32::MIN, 5), PartitionId(2));
}

#[test]
fn equal_hashes_are_one_record() {
    let mut collector = HashCollector::new(2);
    for _ in 0..1000 {
        collector.add(7, 1, 2).unwrap();
        collector.add(-7, 1, 2).unwrap();
    }
    collector.end_partition().unwrap();
    collector.add(8, 1, 2).unwrap();
    assert_eq!(collector.end_partition(), Err(TooManyKeys { limit: 2 }));
}

#[test]
fn more_rows_than_a_record_counts() {
    let rows = u64::from(u32::MAX) * 3;
    let hashes = hashes(&[(3, rows, 5), (3, rows, 5)]);
    assert_eq!(hashes.layout(2, two()).partitions[1], Load { rows: 2 * rows, bytes: 10 });
}

#[test]
fn keys_of_a_partition() {
    // At 10: -3 → 7, 17 → 7, 27 → 7, 8 → 8.
    let hashes = hashes(&[(-3, 5, 1), (17, 9, 1), (8, 100, 1), (17, 1, 1), (27, 5, 1)]);
    let found = hashes.in_partition(PartitionId(7), 10, 2);
    assert_eq!(found.distinct, 3);
    let named: Vec<(i32, u32)> = found.heaviest.iter().map(|key| (key.hash, key.rows)).collect();
    assert_eq!(named, [(17, 10), (-3, 5)]);
}

#[test]
fn a_curve_by_hand() {
    // Rows by hash: 0→4, 1→1, 2→1, 3→2. At 2: [5, 3]; at 4: [4, 1, 1, 2]; at 3: [6, 1, 1].
    let hashes = hashes(&[(0, 4, 0), (1, 1, 0), (2, 1, 0), (3, 2, 0)]);
    let curve = hashes.curve(&[2, 4, 3, 8], two());
    let points: Vec<_> =
        curve.iter().map(|p| (p.partitions, p.max, p.mean, p.p99, p.empty)).collect();
    assert_eq!(
        points,
        [(2, 5, 4.0, 5, 0), (4, 4, 2.0, 4, 0), (3, 6, 8.0 / 3.0, 6, 0), (8, 4, 1.0, 4, 4)]
    );
    assert_eq!(curve[0].max_over_mean, Some(1.25));
    assert_eq!(KeyHashes::default().curve(&[4], two())[0].max_over_mean, None);
}

#[test]
fn counts_share_passes() {
    let groups = common_multiples(&[50, 100, 200, 400, 800]);
    assert_eq!(groups, [(800, vec![800, 400, 200, 100, 50])]);
    for (multiple, counts) in common_multiples(&(50..=800).step_by(7).collect::<Vec<_>>()) {
        assert!(counts.iter().all(|count| multiple % count == 0));
    }
}

proptest! {
    #[test]
    fn layouts_equal_a_plain_loop(
        rows in prop::collection::vec((any::<i32>(), 1..1000_u64, 0..100_u64), 0..500),
        count in 1..3000_u32,
    ) {
        let mut expected = vec![Load::default(); count as usize];
        for (hash, rows, bytes) in &rows {
            let partition = hash.rem_euclid(i32::try_from(count).unwrap());
            let load = &mut expected[usize::try_from(partition).unwrap()];
            load.rows += rows;
            load.bytes += bytes;
            prop_assert_eq!(partition_of(*hash, count).0, u32::try_from(partition).unwrap());
        }
        prop_assert_eq!(hashes(&rows).layout(count, two()).partitions, expected);
    }

    #[test]
    fn curves_equal_layouts(
        rows in prop::collection::vec((any::<i32>(), 1..1000_u64, 0..100_u64), 0..300),
        counts in prop::collection::vec(1..2000_u32, 0..30),
    ) {
        let hashes = hashes(&rows);
        for (point, count) in hashes.curve(&counts, two()).iter().zip(&counts) {
            let spread = hashes.layout(*count, two()).skew().rows.unwrap();
            prop_assert_eq!(point.partitions, *count);
            prop_assert_eq!((point.max, point.p99, point.empty), (spread.max, spread.p99, spread.empty));
            prop_assert_eq!((point.mean, point.max_over_mean), (spread.mean, spread.max_over_mean));
        }
        prop_assert_eq!(hashes.curve(&counts, two()).len(), counts.len());
    }
}
