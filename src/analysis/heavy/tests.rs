use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn options(scope: Scope, weigh: Weigh, memory: u64) -> HeavyOptions {
    HeavyOptions {
        top: 5,
        memory: Bytes(memory),
        weigh,
        scope,
        workers: NonZeroUsize::new(2).unwrap(),
    }
}

fn one_row(bytes: u64, weight: u64) -> Measure {
    Measure { rows: 1, bytes, weight }
}

/// Walks rows of (partition, key, measure), partition by partition.
fn walk(options: HeavyOptions, rows: &[(u32, Vec<u8>, Measure)]) -> Heaviest {
    let all = HeavyKeys::new(options);
    let mut by_partition: BTreeMap<u32, Vec<(&[u8], Measure)>> = BTreeMap::new();
    for (partition, key, measure) in rows {
        by_partition.entry(*partition).or_default().push((key, *measure));
    }
    for (partition, rows) in by_partition {
        let mut keys = all.partition(PartitionId(partition));
        for (key, measure) in rows {
            keys.add(key, measure);
        }
        keys.finish();
    }
    all.finish()
}

fn named(found: &Heaviest) -> Vec<(&[u8], u64)> {
    found.keys.iter().map(|key| (&*key.key, key.weight)).collect()
}

#[test]
fn a_part_of_the_key_is_summed_over_partitions() {
    let row =
        |partition, key: &[u8], bytes, weight| (partition, key.to_vec(), one_row(bytes, weight));
    let rows = [
        row(0, b"a", 10, 7),
        row(3, b"b", 10, 1),
        row(1, b"a", 20, 1),
        row(3, b"a", 30, 1),
        row(3, b"b", 10, 1),
        row(2, b"c", 900, 0),
    ];
    let by = |weigh| walk(options(Scope::Part, weigh, 0), &rows);

    let found = by(Weigh::Rows);
    assert_eq!(named(&found), [(&b"a"[..], 3), (b"b", 2), (b"c", 1)]);
    let first = &found.keys[0];
    assert_eq!((first.rows, first.bytes, first.missed), (3, 60, 0));
    assert_eq!(first.partitions, [0, 1, 3].map(PartitionId));
    assert!(!first.more_partitions);
    assert_eq!(found.keys[1].partitions, [PartitionId(3)]);
    assert_eq!(found.total, Measure { rows: 6, bytes: 980, weight: 6 });
    assert_eq!((found.exact, found.error_bound, found.distinct), (true, 0, Distinct::Exact(3)));

    assert_eq!(named(&by(Weigh::Bytes)), [(&b"c"[..], 900), (b"a", 60), (b"b", 20)]);
    let given = by(Weigh::Given);
    assert_eq!(named(&given), [(&b"a"[..], 9), (b"b", 2), (b"c", 0)]);
    assert_eq!(given.total.weight, 11);
}

#[test]
fn whole_keys_are_reduced_partition_by_partition() {
    // Ten partitions of 100 keys; key i of partition p has i rows, the last one 1000 + p.
    let rows: Vec<_> = (0..10_u32)
        .flat_map(|p| {
            (1..=100_u32).map(move |i| {
                let rows = if i == 100 { 1000 + u64::from(p) } else { u64::from(i) };
                let key = [p.to_be_bytes(), i.to_be_bytes()].concat();
                (p, key, Measure { rows, bytes: 1, weight: 0 })
            })
        })
        .collect();
    let found = walk(options(Scope::Whole, Weigh::Rows, 0), &rows);
    let weights: Vec<u64> = found.keys.iter().map(|key| key.weight).collect();
    assert_eq!(weights, [1009, 1008, 1007, 1006, 1005]);
    assert_eq!(found.distinct, Distinct::Exact(1000));
    // 1 + 2 + … + 99 = 4950 in each partition, and 1000 … 1009.
    assert_eq!(found.total.rows, 10 * 4950 + 10 * 1000 + 45);
    let of_three: Vec<u64> =
        found.per_partition[&PartitionId(3)].iter().map(|key| key.weight).collect();
    assert_eq!(of_three, [1003, 99, 98]);
}

#[test]
fn partitions_of_a_key_are_listed_up_to_eight() {
    // In whatever order they are read.
    for order in [[0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 3, 7, 0, 5, 1, 6, 2, 4]] {
        let rows: Vec<_> = order.map(|p| (p, b"k".to_vec(), one_row(1, 1))).into();
        let found = walk(options(Scope::Part, Weigh::Rows, 0), &rows);
        assert_eq!(found.keys[0].partitions, (0..8).map(PartitionId).collect::<Vec<_>>());
        assert!(found.keys[0].more_partitions);
    }
}

#[test]
fn beyond_the_memory_the_hot_key_stays_first_and_bounded() {
    // 300,000 keys of one row and one key of 20,000, in one megabyte.
    let all = HeavyKeys::new(options(Scope::Part, Weigh::Rows, 0));
    for p in 0..10_u32 {
        let mut keys = all.partition(PartitionId(p));
        for i in 0..30_000_u32 {
            keys.add(&[p.to_be_bytes(), i.to_be_bytes()].concat(), one_row(1, 0));
            if i % 15 == 0 {
                keys.add(b"hot", one_row(1, 0));
            }
        }
        keys.finish();
    }
    let found = all.finish();
    assert!(!found.exact);
    assert_eq!(&*found.keys[0].key, b"hot");
    let (weight, missed) = (found.keys[0].weight, found.keys[0].missed);
    assert!(weight <= 20_000 && 20_000 <= weight + missed);
    assert!(found.error_bound >= missed && found.error_bound < 1000, "{}", found.error_bound);
    assert_eq!(found.total.rows, 320_000);
    let Distinct::Estimate(distinct) = found.distinct else { panic!("{:?}", found.distinct) };
    assert!(distinct.abs_diff(300_001) < 30_000, "{distinct}");
}

#[test]
fn a_key_too_long_to_keep_is_part_of_the_error() {
    let rows = [(0, vec![1; 900_000], one_row(5, 0)), (0, vec![2; 10], one_row(5, 0))];
    for scope in [Scope::Whole, Scope::Part] {
        let found = walk(options(scope, Weigh::Rows, 0), &rows);
        assert_eq!(named(&found), [(&[2_u8; 10][..], 1)]);
        assert_eq!((found.exact, found.error_bound, found.total.rows), (false, 1, 2));
        assert_eq!(found.distinct, Distinct::Estimate(2));
    }
}

#[test]
fn memory_stays_within_the_budget() {
    let hasher = DefaultHashBuilder::default();
    let mut table = KeyTable::new(Weigh::Given, 200_000);
    for i in 0..100_000_u64 {
        let key =
            vec![0x5a; (i % 97) as usize].into_iter().chain(i.to_be_bytes()).collect::<Vec<u8>>();
        let partition = PartitionId(u32::try_from(i % 7).unwrap());
        for _ in 0..2 {
            table.add(&hasher, hasher.hash_one(&key), &key, partition, one_row(1, i % 13));
        }
        assert!(table.memory() <= 200_000 + table.len() * 8, "{} at {i}", table.memory());
    }
    assert!(table.len() > 500, "{}", table.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bounds hold for every key, whatever the order, against exact sums.
    #[test]
    fn bounds_hold(
        rows in prop::collection::vec((0..4_u32, 0..400_u32, 1..50_u64, 0..3_u8), 1..3000),
        budget in 3_000..40_000_usize,
    ) {
        let hasher = DefaultHashBuilder::default();
        let mut table = KeyTable::new(Weigh::Given, budget);
        let mut exact: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut total = 0;
        for (partition, id, weight, skew) in rows {
            // A third of the rows have few keys, so that some are heavy.
            let id = if skew == 0 { id % 7 } else { id };
            let key = id.to_be_bytes().repeat(1 + (id % 5) as usize);
            table.add(
                &hasher,
                hasher.hash_one(&key[..]),
                &key,
                PartitionId(partition),
                one_row(1, weight),
            );
            *exact.entry(key).or_default() += weight;
            total += weight;
        }
        let found = table.top(usize::MAX);
        for key in &found {
            let truth = exact[&key.key.to_vec()];
            prop_assert!(key.weight <= truth && truth <= key.weight + key.missed);
            prop_assert!(key.missed <= table.error());
        }
        for (key, truth) in &exact {
            if !found.iter().any(|found| *found.key == **key) {
                prop_assert!(*truth <= table.error());
            }
        }
        prop_assert!(table.error() <= total);
        if table.distinct() == Distinct::Exact(found.len() as u64) {
            prop_assert_eq!(exact.len(), found.len());
            prop_assert_eq!(table.error(), 0);
        }
    }

    /// With room enough the heaviest are those of an exact count, in both scopes.
    #[test]
    fn exact_equals_a_plain_map(
        rows in prop::collection::vec((0..300_u32, 0..9_u64), 0..2000),
    ) {
        let mut exact: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut fed = Vec::new();
        for (id, weight) in rows {
            let key = id.to_be_bytes().to_vec();
            *exact.entry(key.clone()).or_default() += weight;
            fed.push((id % 5, key, one_row(3, weight)));
        }
        let mut expected: Vec<(u64, Vec<u8>)> =
            exact.iter().map(|(key, weight)| (*weight, key.clone())).collect();
        expected.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        expected.truncate(5);
        for scope in [Scope::Whole, Scope::Part] {
            let found = walk(options(scope, Weigh::Given, 4_000_000), &fed);
            let named: Vec<(u64, Vec<u8>)> =
                found.keys.iter().map(|key| (key.weight, key.key.to_vec())).collect();
            prop_assert_eq!(&named, &expected);
            prop_assert_eq!(found.distinct, Distinct::Exact(exact.len() as u64));
            prop_assert!(found.exact && found.error_bound == 0);
        }
    }
}
