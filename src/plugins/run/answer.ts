import { AppError, type ForeignRefusal } from '../../platform/errors.ts'
import { JsonReader } from '../../platform/http/body/json-reader.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import { isObject } from '../manifest/reader.ts'

/** A refusal by a plugin. */
export interface Refusal {
  readonly foreign: ForeignRefusal
  readonly message: string
  readonly parameters: Record<string, unknown>
}

const longestCode = 200
const longestMessage = 2000

/**
 * The refusal in a program's output: the whole output when the program ended with another code than 0, and the member
 * `error` in any case.
 */
export function refusalIn(body: unknown, failed: boolean): Refusal | null {
  if (!isObject(body)) return null
  if (isObject(body.error)) return asRefusal(body.error)
  return failed ? asRefusal(body) : null
}

function asRefusal(body: Record<string, unknown>): Refusal | null {
  const { code, realm, statuscode, parameters, error, message } = body
  if (typeof code !== 'string' || code === '' || code.length > longestCode) return null
  const said = [error, message].find((text) => typeof text === 'string' && text !== '')
  return {
    foreign: {
      code,
      realm: typeof realm === 'string' && realm.length <= longestCode ? realm : 'api',
      status: isErrorStatus(statuscode) ? statuscode : 400,
    },
    message: typeof said === 'string' ? said.slice(0, longestMessage) : code,
    parameters: isObject(parameters) ? parameters : {},
  }
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
}

/** The refusal as an error for the client: code, parameters and status are those of the plugin. */
export function refusalError({ foreign, message, parameters }: Refusal): AppError {
  return new AppError('DbPreSaveFailed', parameters, { message, foreign })
}

/** Parsed JSON; undefined where it is invalid. */
export function parsedJson(bytes: Buffer | string): unknown {
  try {
    return JSON.parse(typeof bytes === 'string' ? bytes : bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** Limits for an answer of a callback: as many values and as deep as a save. */
const limits = { values: 1_000_000, depth: 100, keyBytes: 1000, stringBytes: 16 * 1024 * 1024 }
const sliceBytes = 64 * 1024

/** The JSON of an answer, parsed in pieces; undefined where it is invalid. */
export async function readAnswer(bytes: Buffer): Promise<unknown> {
  const yielder = createYielder()
  try {
    const reader = new JsonReader(limits, { exact: true })
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      if (yielder.due()) await yielder.yield()
      reader.write(bytes.subarray(at, at + sliceBytes))
    }
    return reader.end()
  } catch {
    return undefined
  }
}
