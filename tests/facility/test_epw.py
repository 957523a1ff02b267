"""EPW files as people have them."""

from __future__ import annotations

import calendar

import pytest

from racktwin.facility.station import weather
from racktwin.finding import BadInput

HEADS = [
    "LOCATION,Nowhere,AZ,USA,TMY3,722780,33.45,-111.98,-7.0,337.0",
    "DESIGN CONDITIONS,0",
    "TYPICAL/EXTREME PERIODS,0",
    "GROUND TEMPERATURES,0",
    "HOLIDAYS/DAYLIGHT SAVINGS,No,0,0,0",
    "COMMENTS 1,made up",
    "COMMENTS 2,",
    "DATA PERIODS,1,1,Data,Sunday,1/1,12/31",
]

NAMES = {6: "dry bulb", 7: "dew point", 8: "relative humidity", 9: "pressure"}


def rows(year=2023, dry=25.0, dew=10.0, humidity=39.0, pressure=97000):
    return [
        f"{year},{month},{day},{hour},60,?,{dry},{dew},{humidity},{pressure},0,0"
        for month in range(1, 13)
        for day in range(1, calendar.monthrange(year, month)[1] + 1)
        for hour in range(1, 25)
    ]


def read(tmp_path, data, heads=HEADS):
    path = tmp_path / "site.epw"
    path.write_text("\n".join([*heads, *data]) + "\n")
    return weather(path)


def refused(tmp_path, data, heads=HEADS):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, data, heads)
    return str(caught.value)


def changed(index, column, value):
    data = rows()
    fields = data[index].split(",")
    fields[column] = value
    data[index] = ",".join(fields)
    return data


def test_a_good_file(tmp_path):
    found = read(tmp_path, rows())
    assert (len(found), found.title) == (8760, "Nowhere, AZ, USA")
    assert found.wet[0] == pytest.approx(15.8934, abs=2e-3)  # psychrolib: 25 °C, 39 %, 970 hPa


def test_leap_years_have_a_day_more(tmp_path):
    assert len(read(tmp_path, rows(2024))) == 8784


def test_a_year_joined_from_leap_and_other_years_is_whole(tmp_path):
    data = [each for each in rows(2024) if not each.startswith("2024,2,29,")]
    assert len(read(tmp_path, data)) == 8760


def test_short_gaps_are_filled_in(tmp_path):
    data = rows()
    for index in range(100, 103):
        fields = data[index].split(",")
        fields[6] = "99.9"
        data[index] = ",".join(fields)
    assert read(tmp_path, data).dry[101] == pytest.approx(25)


def test_long_gaps_are_not(tmp_path):
    data = [line.replace(",25.0,", ",99.9,", 1) if 200 <= i < 230 else line
            for i, line in enumerate(rows())]  # fmt: skip
    said = refused(tmp_path, data)
    assert "line 209 dry bulb: 30 hours without a value; up to 6 are filled in" in said


def test_missing_and_double_rows_are_named(tmp_path):
    data = rows()
    del data[50:53]
    data.insert(1000, data[1000])
    said = refused(tmp_path, data)
    assert "line 59  time: 3 hours are missing before this row" in said
    assert "line 1010 time: this hour stands twice" in said


def test_part_of_a_year_is_refused(tmp_path):
    said = refused(tmp_path, rows()[:5000])
    assert "expected the 8,760 hours of a year, found 5,000" in said


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (6, "hot", "line 9   dry bulb: 'hot' is not a number"),
        (6, "95.0", "95 is out of range; expected -70 to 70 °C (is it in °F?)"),
        (9, "970", "970 is out of range; expected 31000 to 120000 Pa (is it in hPa? times 100)"),
        (9, "97.0", "(is it in kPa? times 1,000)"),
        (3, "0", "month 1, day 1, hour 0 is none; hours go from 1 to 24"),
    ],
)
def test_one_bad_value(tmp_path, column, value, text):
    assert text in refused(tmp_path, changed(0, column, value))


def test_a_whole_year_in_fahrenheit(tmp_path):
    said = refused(tmp_path, rows(dry=68.0))
    assert "dry bulb: a mean of 68 °C over the year is too hot for any place: is it in °F?" in said


def test_humidity_as_a_share(tmp_path):
    said = refused(tmp_path, rows(humidity=0.39))
    assert "relative humidity: at most 0.39 % all year: is it a share of 1? times 100" in said


def test_humidity_comes_from_the_dew_point_where_it_is_missing(tmp_path):
    assert read(tmp_path, rows(humidity=999)).wet[0] == pytest.approx(15.8488, abs=2e-3)


def test_many_faults_are_counted(tmp_path):
    data = [line.replace(",97000,", ",970,") for line in rows()]
    said = refused(tmp_path, data)
    assert said.count("hPa") == 12
    assert "pressure: and 8,748 more like these" in said


def test_not_an_epw_file(tmp_path):
    said = refused(tmp_path, rows(), ["time;temperature", *HEADS[1:]])
    assert "LOCATION: expected 'LOCATION,city,...', found 'time;temperature'" in said
    (tmp_path / "empty.epw").write_text("")
    with pytest.raises(BadInput, match="is empty"):
        weather(tmp_path / "empty.epw")
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        weather(tmp_path / "none.epw")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "warm"])
@pytest.mark.parametrize("column", [6, 7, 8, 9])
def test_words_are_no_marks_of_missing_values(text, column, tmp_path):
    said = refused(tmp_path, changed(2000, column, text))
    assert f"line 2009 {NAMES[column]}: '{text}' is not a number" in said


@pytest.mark.parametrize("mark", ["", "99.9", "99.90", "999", "9999"])
def test_marks_are_nines(mark, tmp_path):
    assert read(tmp_path, changed(2000, 6, mark)).dry[2000] == 25.0


@pytest.mark.parametrize("value", ["293.15", "120"])
def test_what_is_above_the_mark_is_not_missing(value, tmp_path):
    said = refused(tmp_path, changed(2000, 6, value))
    assert f"dry bulb: {value} is out of range; expected -70 to 70 °C" in said
    assert ("kelvin" in said) == (value == "293.15")
