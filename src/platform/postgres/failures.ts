import pg from 'pg'
import type { ErrorCode } from '../catalogue.ts'
import { AppError } from '../errors.ts'

/** The meaning of a PostgreSQL failure for the client. */
interface Meaning {
  readonly code: ErrorCode
  /** Replaces the general text of the code. */
  readonly message?: string
  /** The statement was not sent yet, and the server is about to come back: a new connection attempt makes sense. */
  readonly comesBack?: boolean
}

const away: Meaning = { code: 'ServiceUnavailable', message: 'The database cannot be reached; try again.' }
const comesBack: Meaning = { ...away, comesBack: true }
const short: Meaning = { code: 'ServiceUnavailable', message: 'The database is short of resources; try again.' }
const locked: Meaning = { code: 'DatabaseLockError' }
/** Named records are looked up before a request is written, so only a deletion in between causes this. */
const justDeleted: Meaning = {
  code: 'DatabaseLockError',
  message: 'Something that the request names, or its user, was deleted at the same time; try again.',
}
const badText: Meaning = { code: 'ServerGeneric', message: 'The text has a character that cannot be stored.' }

/**
 * The meanings of PostgreSQL's states, by state or by class (its first two characters); a state is looked up before its class. Any
 * other state is a bug of ours.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const stateMeanings: Readonly<Record<string, Meaning>> = {
  '08': comesBack, // connection_exception
  '28': away, // the server does not accept our connection any more
  '3D000': away, // invalid_catalog_name: the database was taken away
  '25006': away, // read_only_sql_transaction: after a failover the server is a standby
  '25P03': away, // idle_in_transaction_session_timeout: it has ended the connection
  '25P04': away, // transaction_timeout: the same
  '53': short, // insufficient_resources
  '53100': { code: 'ServiceUnavailable', message: 'The disk of the database is full.' },
  '53300': comesBack, // too_many_connections
  '57P01': comesBack, // admin_shutdown
  '57P02': comesBack, // crash_shutdown
  '57P03': comesBack, // cannot_connect_now: starting, stopping, in recovery
  '57P04': away, // database_dropped
  '57P05': comesBack, // idle_session_timeout
  '57014': { code: 'ServiceUnavailable', message: 'The request takes too long.' }, // query_canceled
  '55P03': locked, // lock_not_available
  '40P01': locked, // deadlock_detected
  '40001': locked, // serialization_failure
  '23503': justDeleted, // foreign_key_violation
  '22P05': badText, // untranslatable_character: NUL in text
  '22021': badText, // character_not_in_repertoire
  '22003': { code: 'ServerGeneric', message: 'A number is out of range.' }, // numeric_value_out_of_range
}

/** Error codes of sockets and of name resolution on the way to the server. */
export const socketCodes = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTCONN', 'EADDRNOTAVAIL'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS'],
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED', 'ERR_STREAM_PREMATURE_CLOSE'],
]
const socketFailures = new Set(socketCodes)
/** The same where the socket is a file: elsewhere these codes concern another file. */
const socketFileCodes = new Set(['ENOENT', 'EACCES'])

/** The driver has no error codes: these are its messages when the connection is lost or cannot be opened. */
export const driverMessages =
  /^Connection terminated|^Connection ended unexpectedly|^timeout exceeded when trying to connect|^timeout expired$|^Query read timeout|^Client has encountered a connection error|^Client was closed and is not queryable|^Cannot use a pool after calling end|^Not queryable/

/**
 * A failure of the database as an `AppError`, in this one place; other failures are returned unchanged. For failures of a
 * connection that is used directly (COPY); all others are already translated.
 */
export function translate(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof pg.DatabaseError && error.code === '23505') {
    return new AppError('DatabaseUniqueKeyViolation', { constraint: error.constraint ?? '' }, { cause: error })
  }
  const meaning = meaningOf(error)
  return meaning ? new AppError(meaning.code, {}, { message: meaning.message ?? undefined, cause: error }) : error
}

/** A connection that cannot be opened, whatever the server answers: no request is to blame for that. */
export function unreachable(cause: unknown): AppError {
  const known = translate(cause)
  return known instanceof AppError && known.status === 503
    ? known
    : new AppError(away.code, {}, { message: away.message, cause })
}

/** Whether the outcome is unknown after this failure of a COMMIT: the connection is lost, or the server ends. */
export function leavesOpen(error: unknown): boolean {
  const states = causesOf(error).flatMap((cause) => stateOf(cause) ?? [])
  return states.length === 0 || states.some((state) => state.startsWith('57P') || state.startsWith('08'))
}

/** The outcome is unknown. */
export function unknownOutcome(cause: unknown): AppError {
  const message = 'The database has not answered whether this is stored: look before you send it again.'
  return new AppError(away.code, {}, { message, cause })
}

/** Whether a refused connection is worth a retry in a moment. */
export function comesBackSoon(error: unknown): boolean {
  return meaningOf(error)?.comesBack === true
}

/** Whether PostgreSQL has refused a statement because the disk is full, translated or not. */
export function isDiskFull(error: unknown): boolean {
  return causesOf(error).some((cause) => stateOf(cause) === '53100')
}

/** Whether a statement failed only because an earlier one of its transaction had failed. */
export function isFollowingFailure(error: unknown): boolean {
  return causesOf(error).some((cause) => stateOf(cause) === '25P02')
}

/**
 * The database failure in the causes of another error: code that wraps a failure sets its cause, so that a temporary failure does
 * not look like a bug.
 */
export function unavailabilityBehind(error: unknown): AppError | undefined {
  for (const cause of causesOf(error)) {
    // Sockets are also used for other servers: only errors of the driver concern the database.
    const known = cause instanceof pg.DatabaseError ? translate(cause) : cause
    if (known instanceof AppError && known.status === 503) return known
  }
  return undefined
}

function meaningOf(error: unknown): Meaning | undefined {
  const state = stateOf(error)
  if (state !== undefined) return stateMeanings[state] ?? stateMeanings[state.slice(0, 2)]
  const { code, syscall, message } = error as { code?: string; syscall?: string; message?: string }
  const lost =
    (code !== undefined && (socketFailures.has(code) || (socketFileCodes.has(code) && syscall === 'connect'))) ||
    driverMessages.test(message ?? '')
  return lost ? comesBack : undefined
}

function stateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** The failure and its causes; stops at a cycle. */
function causesOf(error: unknown): readonly unknown[] {
  const causes = new Set<unknown>()
  for (let at = error; at instanceof Error && !causes.has(at); at = at.cause) causes.add(at)
  return [...causes]
}
