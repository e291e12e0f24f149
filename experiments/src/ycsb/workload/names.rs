//! The property names of YCSB.

/// The names that are used.
const USED: [&str; 13] = [
    "recordcount",
    "operationcount",
    "readproportion",
    "updateproportion",
    "insertproportion",
    "scanproportion",
    "readmodifywriteproportion",
    "requestdistribution",
    "zipfianconstant",
    "minscanlength",
    "maxscanlength",
    "scanlengthdistribution",
    "insertorder",
];

/// The names that YCSB's client and core workload know and that mean nothing here: keys and values are numbers of eight
/// bytes, and the workers, the seed and the repetitions come from the command line.
const UNUSED: [&str; 36] = [
    "workload",
    "db",
    "table",
    "fieldcount",
    "fieldlength",
    "minfieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "readallfields",
    "readallfieldsbyname",
    "writeallfields",
    "dataintegrity",
    "zeropadding",
    "insertstart",
    "insertcount",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "dotransactions",
    "threadcount",
    "target",
    "maxexecutiontime",
    "measurementtype",
    "measurement",
    "exporter",
    "exportfile",
    "label",
    "status",
    "histogram",
    "hdrhistogram",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "warmupexecutiontime",
    "command",
];

/// Whether YCSB knows the name and it means nothing here. Names with a dot belong to a part of YCSB that is not here:
/// to the binding of a database or to how measurements are written.
pub(super) fn is_unused(name: &str) -> bool {
    UNUSED.contains(&name)
        || name.split_once('.').is_some_and(|(part, rest)| !part.is_empty() && !rest.is_empty())
}

/// Says that there is no such name, and which one may have been meant.
pub(super) fn unknown(name: &str) -> String {
    let known = USED.iter().chain(&UNUSED);
    let closest = crate::suggestion::closest(name, known.copied());
    let hint = match closest {
        Some(closest) => format!("did you mean '{closest}'?"),
        None => format!("known are {}", USED.join(", ")),
    };
    format!("unknown property '{name}'; {hint}")
}
