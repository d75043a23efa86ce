//! Rows as an Apache Parquet file, and back. The same rows give the same bytes.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::{Field, Row as ParquetRow};
use parquet::schema::parser::parse_message_type;

use super::error::ExportError;
use super::names::NamedRow;
use sluicegate_core::key_env::KeyEnv;

use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::record::Unit;
use crate::usage::{Marks, Sums};

/// The columns. `hour_start` and not `hour`, which readers make of the folders that sealed hours lie in.
const SCHEMA: &str = "message usage {
    required int64 hour_start (TIMESTAMP(MILLIS, true));
    optional binary account (STRING);
    optional binary key (STRING);
    optional binary route (STRING);
    optional binary tier (STRING);
    required boolean late;
    required boolean degraded;
    required int64 requests;
    required int64 charged;
    required int64 corrected;
    required int64 refunded;
    required int64 overage;
    required int64 overage_refunded;
    required int64 total;
    required int64 start (TIMESTAMP(MILLIS, true));
    required binary unit (STRING);
    required binary env (STRING);
    required boolean hourly;
    required int64 charge_start (TIMESTAMP(MILLIS, true));
}";

/// The place of the column `start`, and of the first that always has a text.
const START: usize = 14;
const UNIT: usize = 15;
/// The place of the column with the quarter of the charge.
const CHARGE_START: usize = 18;
/// How many rows are in a group: they are in memory until it is written.
const GROUP_ROWS: usize = 65_536;
const HOUR_MILLIS: i64 = 3_600_000;
const QUARTER_MILLIS: i64 = 900_000;

/// A file that is being written.
pub(crate) struct ParquetRows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    group: Vec<NamedRow>,
}

impl<W: Write + Send> ParquetRows<W> {
    pub(crate) fn new(out: W) -> Result<Self, ExportError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        // Without the version of the library: what was sealed before an upgrade and after it is the same.
        let properties = WriterProperties::builder()
            .set_created_by("sluicegate usage v1".to_owned())
            .set_compression(Compression::SNAPPY)
            .build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(Self { writer, group: Vec::new() })
    }

    /// Says something of the file as a whole.
    pub(crate) fn describe(&mut self, key: &str, value: &str) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    pub(crate) fn push(&mut self, row: NamedRow) -> Result<(), ExportError> {
        self.group.push(row);
        if self.group.len() >= GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    /// Ends the file, and gives back what it was written to.
    pub(crate) fn finish(mut self) -> Result<W, ExportError> {
        if !self.group.is_empty() {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let rows = std::mem::take(&mut self.group);
        let mut group = self.writer.next_row_group()?;
        let mut number = 0;
        while let Some(mut column) = group.next_column()? {
            write_column(&mut column, number, &rows)?;
            column.close()?;
            number += 1;
        }
        group.close()?;
        Ok(())
    }
}

/// Writes the column of this number.
fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    number: usize,
    rows: &[NamedRow],
) -> Result<(), ExportError> {
    match column.untyped() {
        ColumnWriter::BoolColumnWriter(column) => {
            let mark = match number {
                5 => Marks::LATE,
                6 => Marks::DEGRADED,
                _ => Marks::HOURLY,
            };
            let values: Vec<bool> = rows.iter().map(|row| row.marks.contains(mark)).collect();
            column.write_batch(&values, None, None)?;
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let values: Result<Vec<i64>, _> = rows.iter().map(|row| whole(row, number)).collect();
            column.write_batch(&values?, None, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(column) if number >= UNIT => {
            let word =
                |row: &NamedRow| if number == UNIT { row.unit.as_str() } else { row.marks.env().as_str() };
            let values: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(word(row))).collect();
            column.write_batch(&values, None, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let texts = || rows.iter().map(|row| text(row, number));
            let levels: Vec<i16> = texts().map(|text| i16::from(text.is_some())).collect();
            let values: Vec<ByteArray> =
                texts().flatten().map(|text| ByteArray::from(text.as_str())).collect();
            column.write_batch(&values, Some(&levels), None)?;
        }
        _ => return Err(ExportError::Encode("a column of a type that is not written here".to_owned())),
    }
    Ok(())
}

fn whole(row: &NamedRow, column: usize) -> Result<i64, ExportError> {
    match column {
        0 => return Ok(i64::from(row.start.hour().number()) * HOUR_MILLIS),
        START => return Ok(i64::from(row.start.number()) * QUARTER_MILLIS),
        CHARGE_START => return Ok(i64::from(row.charge_start().number()) * QUARTER_MILLIS),
        _ => {}
    }
    let numbers = row.sums.numbers();
    let number = column.checked_sub(7).and_then(|index| numbers.get(index).copied());
    i64::try_from(number.unwrap_or(row.sums.total())).map_err(|_| ExportError::TooLarge)
}

fn text(row: &NamedRow, column: usize) -> Option<&String> {
    match column {
        1 => row.account.as_ref(),
        2 => row.key.as_ref(),
        3 => row.route.as_ref(),
        _ => row.tier.as_ref(),
    }
}

/// The rows of a file, in order. Columns are found by their names.
pub(crate) fn read(bytes: Bytes) -> Result<Vec<NamedRow>, ParquetError> {
    // The reader takes some damaged files for whole ones until it panics. Nothing of it is kept then.
    let rows = std::panic::catch_unwind(|| {
        let reader = SerializedFileReader::new(bytes)?;
        reader.get_row_iter(None)?.map(|row| parse(row?)).collect()
    });
    rows.unwrap_or_else(|_| Err(ParquetError::General("its parts do not fit together".to_owned())))
}

fn quarter(millis: i64) -> Option<Quarter> {
    let number = u32::try_from(millis / QUARTER_MILLIS).ok().filter(|_| millis % QUARTER_MILLIS == 0);
    number.and_then(Quarter::new)
}

fn parse(row: ParquetRow) -> Result<NamedRow, ParquetError> {
    // A file without these columns was written when usage was rolled up by the hour.
    let mut named = NamedRow {
        start: Quarter::FIRST,
        charge: None,
        serial: 0,
        account: None,
        key: None,
        route: None,
        tier: None,
        unit: Unit::Requests,
        marks: Marks::NONE,
        sums: Sums::default(),
    };
    let (mut start, mut is_hourly) = (None, true);
    let wrong = |what: &str| ParquetError::General(format!("no such thing is written here: {what}"));
    for (name, field) in row.into_columns() {
        match (name.as_str(), field) {
            ("hour_start", Field::TimestampMillis(at) | Field::Long(at)) => {
                let hour = u32::try_from(at / HOUR_MILLIS).ok().and_then(Hour::new);
                let hour = hour.filter(|_| at % HOUR_MILLIS == 0).ok_or_else(|| wrong(&name))?;
                named.start = Quarter::first_of(hour);
            }
            ("account", Field::Str(text)) => named.account = Some(text),
            ("key", Field::Str(text)) => named.key = Some(text),
            ("route", Field::Str(text)) => named.route = Some(text),
            ("tier", Field::Str(text)) => named.tier = Some(text),
            ("start", Field::TimestampMillis(at) | Field::Long(at)) => {
                start = Some(quarter(at).ok_or_else(|| wrong(&name))?);
            }
            ("charge_start", Field::TimestampMillis(at) | Field::Long(at)) => {
                named.charge = Some(quarter(at).ok_or_else(|| wrong(&name))?);
            }
            ("unit", Field::Str(text)) => named.unit = Unit::parse(&text).ok_or_else(|| wrong(&name))?,
            ("env", Field::Str(text)) => match KeyEnv::parse(&text).ok_or_else(|| wrong(&name))? {
                KeyEnv::Live => {}
                KeyEnv::Test => named.marks = named.marks | Marks::TEST,
            },
            ("hourly", Field::Bool(hourly)) => is_hourly = hourly,
            ("late", Field::Bool(true)) => named.marks = named.marks | Marks::LATE,
            ("degraded", Field::Bool(true)) => named.marks = named.marks | Marks::DEGRADED,
            ("requests", Field::Long(number)) => named.sums.requests = number.into(),
            ("charged", Field::Long(number)) => named.sums.charged = number.into(),
            ("corrected", Field::Long(number)) => named.sums.corrected = number.into(),
            ("refunded", Field::Long(number)) => named.sums.refunded = number.into(),
            ("overage", Field::Long(number)) => named.sums.overage = number.into(),
            ("overage_refunded", Field::Long(number)) => named.sums.overage_refunded = number.into(),
            ("total", Field::Long(_)) | (_, Field::Null | Field::Bool(false)) => {}
            _ => return Err(wrong(&name)),
        }
    }
    named.start = start.unwrap_or(named.start);
    named.charge = named.charge.filter(|charge| *charge != named.start);
    named.marks = if is_hourly { named.marks | Marks::HOURLY } else { named.marks };
    Ok(named)
}
