//! A bill as comma-separated values: whose, when, how much. Every line that cannot be read is named.

use std::fmt;
use std::io::Read;

use csv::StringRecord;

use super::Totals;
use crate::quarter::Quarter;

/// The most problems that are told of.
const PROBLEMS_MAX: usize = 100;

/// The largest number of a line. Far more than anybody can use, and so little that lines can always be added up.
const TOTAL_MAX: u128 = 10_u128.pow(27);

/// What the columns may be called, in any case.
const ACCOUNT: [&str; 4] = ["account", "account_id", "customer", "subject"];
const HOUR: [&str; 4] = ["hour", "hour_start", "time", "timestamp"];
/// Where there is such a column, it says when, and no other does: lines of an export count in the hour of their charge.
const CHARGE: [&str; 1] = ["charge_start"];
const TOTAL: [&str; 5] = ["total", "quantity", "value", "usage", "units"];

/// Something in a bill that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BillProblem {
    /// The line, counted from 1.
    pub line: u64,
    /// The column, counted from 1; nothing if it is about the whole line.
    pub column: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for BillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "line {}, column {column}: {}", self.line, self.problem),
            None => write!(f, "line {}: {}", self.line, self.problem),
        }
    }
}

impl std::error::Error for BillProblem {}

/// Reads a bill with a header. It needs a column for the account and one for the total; with one for the hour it can be
/// compared by the hour. Other columns are passed over. Several lines about the same are added up.
pub fn read_bill(bill: impl Read) -> Result<Totals, Vec<BillProblem>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bill);
    let header = reader.headers().map_err(|error| vec![problem(&error)])?;
    let columns = Columns::find(header)?;
    let mut totals = Totals::default();
    let mut problems = Vec::new();
    for record in reader.records() {
        let read =
            record.map_err(|error| problem(&error)).and_then(|record| columns.read(&record, &mut totals));
        problems.extend(read.err());
        if problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    if problems.is_empty() { Ok(totals) } else { Err(problems) }
}

fn problem(error: &csv::Error) -> BillProblem {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} columns where the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    BillProblem { line, column: None, problem }
}

/// Where the columns are.
struct Columns {
    account: usize,
    hour: Option<usize>,
    total: usize,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, Vec<BillProblem>> {
        // The mark that some programs put before the first byte is no part of the first name.
        let is_any = |name: &str, names: &[&str]| {
            let name = name.trim_start_matches('\u{feff}');
            names.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let find = |names: &[&str]| header.iter().position(|name| is_any(name, names));
        let need = |names: &[&str]| {
            let problem = || format!("there is no column called `{}`", names.join("`, `"));
            find(names).ok_or_else(|| BillProblem { line: 1, column: None, problem: problem() })
        };
        match (need(&ACCOUNT), need(&TOTAL)) {
            (Ok(account), Ok(total)) => {
                Ok(Self { account, hour: find(&CHARGE).or_else(|| find(&HOUR)), total })
            }
            (account, total) => Err([account.err(), total.err()].into_iter().flatten().collect()),
        }
    }

    fn read(&self, record: &StringRecord, totals: &mut Totals) -> Result<(), BillProblem> {
        let line = record.position().map_or(0, csv::Position::line);
        let wrong =
            |column: usize, problem: String| BillProblem { line, column: Some(column as u64 + 1), problem };
        let field = |column: usize| record.get(column).unwrap_or_default();
        let hour = self
            .hour
            .map(|column| field(column).parse::<Quarter>().map_err(|error| wrong(column, error.to_string())));
        let total = parse_total(field(self.total))
            .ok_or_else(|| wrong(self.total, format!("`{}` is not a whole number", field(self.total))))?;
        if total.unsigned_abs() > TOTAL_MAX {
            return Err(wrong(self.total, format!("`{}` is more than anybody can use", field(self.total))));
        }
        // Exports mark deleted accounts; here an id is an id, whoever had it.
        let account = field(self.account);
        let account = account.split_once('~').map_or(account, |(id, _)| id);
        totals.add(account, hour.transpose()?.map(Quarter::hour), total);
        Ok(())
    }
}

/// A whole number, as it is or as some spreadsheets write it: `12.00`.
fn parse_total(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = fraction.bytes().all(|byte| byte == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Totals, Vec<String>> {
        read_bill(text.as_bytes()).map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_bill_by_the_hour_is_read_whatever_the_order_and_case_of_its_columns() {
        let bill = "\u{feff}Quantity,Note,ACCOUNT,Hour\n 12.00 ,\"a, b\",acct_1,2026-09-21T13:00:00Z\n\
                    3,,acct_1,2026-09-21T15:00:00+02:00\n-2,,acct_2,2026-09-21T14:00:00Z\n";
        let totals = read(bill).unwrap();
        let hour: crate::hour::Hour = "2026-09-21T13:00:00Z".parse().unwrap();
        assert_eq!(totals.get("acct_1", Some(hour)), 15);
        assert_eq!(totals.get("acct_2", Some(hour.next())), -2);
    }

    #[test]
    fn a_bill_without_hours_is_over_the_whole_time() {
        assert_eq!(read("customer,usage\na,1\na,2\n").unwrap().get("a", None), 3);
        assert_eq!(read("account,total\n").unwrap(), Totals::default());
    }

    #[test]
    fn every_line_that_cannot_be_read_is_named() {
        let bill = "account,hour,total\na,2026-09-21T13:00:00Z,1\na,yesterday,1\na,2026-09-21T13:00:00Z,1.5\n\
                    a,2026-09-21T13:00:00Z\na,2026-09-21T13:00:00Z,\n";
        assert_eq!(
            read(bill).unwrap_err(),
            [
                "line 3, column 2: `yesterday` is not the beginning of a quarter of an hour, such as \
                 2026-11-16T05:15:00Z",
                "line 4, column 3: `1.5` is not a whole number",
                "line 5: it has 2 columns where the header has 3",
                "line 6, column 3: `` is not a whole number",
            ]
        );
    }

    #[test]
    fn lines_can_always_be_added_up() {
        let bill = |total: &str| format!("account,total\na,{total}\na,{total}\n");
        let largest = "1000000000000000000000000000";
        assert_eq!(read(&bill(largest)).unwrap().get("a", None), 2 * 10_i128.pow(27));
        for large in [i128::MAX.to_string(), i128::MIN.to_string(), format!("{largest}0")] {
            let problems = read(&bill(&large)).unwrap_err();
            assert_eq!(problems[0], format!("line 2, column 2: `{large}` is more than anybody can use"));
        }
    }

    #[test]
    fn a_bill_without_the_columns_it_needs_says_which() {
        let problems = read("who,how much\na,1\n").unwrap_err();
        assert_eq!(problems.len(), 2);
        assert!(problems[0].starts_with("line 1: there is no column called `account`"), "{problems:?}");
        assert!(read("").is_err());
    }

    #[test]
    fn there_is_an_end_to_the_list_of_problems() {
        let bill = "account,total\n".to_owned() + &"a,x\n".repeat(1_000);
        assert_eq!(read(&bill).unwrap_err().len(), PROBLEMS_MAX);
    }
}
