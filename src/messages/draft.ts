import { AppError, badRequest } from '../platform/errors.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { Message } from './model.ts'
import type { MessageInput } from './schema.ts'
import type { MessageRow } from './store.ts'

/** The content of a message; the service looks up its recipients. */
export type MessageDraft = Omit<MessageRow, 'id' | 'version' | 'for_everybody'>

/** Applies the input to the stored message, or to an empty one. @throws {AppError} with the path and the reason */
export function draftMessage({ message }: MessageInput, stored: Message | null, path: string): MessageDraft {
  const title = textsOf(message.title, stored?.title)
  const text = textsOf(message.message, stored?.message)
  for (const [name, given] of Object.entries({ title, message: text })) {
    if (Object.keys(given).length === 0) {
      throw badRequest(`${path}.message.${name} needs a text in one language`, { path: `${path}.message.${name}` })
    }
  }
  const start = momentOf(message.start_time, stored?.startTime, `${path}.message.start_time`)
  const end = momentOf(message.end_time, stored?.endTime, `${path}.message.end_time`)
  if (start && end && start > end) {
    const window = { start_time: start.toISOString(), end_time: end.toISOString() }
    throw new AppError('StartTimeAfterEndTime', { path: `${path}.message`, ...window })
  }
  return {
    reference: nameOf(message.reference, stored?.reference)?.normalize('NFC') ?? null,
    title,
    message: text,
    confirmation: textsOf(message.confirmation, stored?.confirmation),
    webfrontend_type: nameOf(message.webfrontend_type, stored?.webfrontendType),
    webfrontend_props:
      message.webfrontend_props === undefined ? (stored?.webfrontendProps ?? {}) : (message.webfrontend_props ?? {}),
    confirm_every_version: flagOf(message.confirm_every_version, stored?.confirmEveryVersion),
    show_always: flagOf(message.show_always, stored?.showAlways),
    client_ids: message.client_ids === undefined ? (stored?.clientIds ?? []) : [...new Set(message.client_ids ?? [])],
    start_time: start,
    end_time: end,
  }
}

function textsOf(given: Record<string, string | null> | null | undefined, stored: Localized = {}): Localized {
  if (given === undefined) return stored
  return Object.fromEntries(
    Object.entries(given ?? {}).filter((entry): entry is [string, string] => Boolean(entry[1]?.trim())),
  )
}

function nameOf(given: string | null | undefined, stored: string | null = null): string | null {
  return given === undefined ? stored : given?.trim() || null
}

function flagOf(given: boolean | null | undefined, stored = false): boolean {
  return given === undefined ? stored : (given ?? false)
}

type Moment = { value?: string | null } | null | undefined

/** Whole seconds; a value without a zone is UTC. */
function momentOf(given: Moment, stored: Date | null = null, path = ''): Date | null {
  if (given === undefined) return stored
  const value = given?.value
  if (value === null || value === undefined || value === '') return null
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/.exec(value)
  const date = new Date(parts ? `${parts[1]}${parts[2] ?? 'Z'}` : Number.NaN)
  const year = date.getUTCFullYear()
  if (Number.isNaN(date.getTime()) || year < 1 || year > 9999) {
    throw badRequest(`${path}.value must be a datetime such as 2026-01-31T08:00:00Z`, { path: `${path}.value`, value })
  }
  return date
}
