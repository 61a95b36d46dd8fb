/** A moment of the database in whole seconds of UTC, as a text: `2026-05-17T10:00:00Z`. */
export const secondsText = (moment: string): string =>
  `to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
