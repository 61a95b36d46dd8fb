/** Answers of recipes about originals, for mappings. Answers are stored: the same question is asked once. */

import { createHash } from 'node:crypto'
import type { EventLog } from '../../../events/service.ts'
import type { Actor } from '../../../platform/actor.ts'
import { AppError } from '../../../platform/errors.ts'
import { signalOf } from '../../../platform/limits/caller-signal.ts'
import { currentDeadline } from '../../../platform/limits/deadline.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import { canonicalJson } from '../../../platform/values/canonical-json.ts'
import { isRecord } from '../../../platform/values/records.ts'
import { assertStorable } from '../../../platform/values/text.ts'
import { type FileVersion, originalOf } from '../../model.ts'
import { readFiles } from '../../records/store.ts'
import { findAnswers, type NewAnswer, putAnswers } from '../make/answers-store.ts'
import type { RecipeProgram } from '../model.ts'
import type { RecipePrograms } from '../recipes/added.ts'
import { localPath } from '../sources/sources.ts'
import type { WorkFolders } from '../sources/work-folders.ts'
import { CannotMake } from '../workshop/failure.ts'

export type RecipeAnswer =
  | { readonly kind: 'said'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failed'; readonly reason: string }

/** A recipe that is asked about a file. */
export interface Question {
  readonly fileId: number
  readonly program: RecipeProgram
  /** The error in its answer; null: none. */
  readonly problemIn: (value: Wire) => string | null
}

export interface AnswerDeps {
  readonly db: Db
  readonly events: EventLog
  readonly folders: Pick<WorkFolders, 'make'>
  readonly storeOf: (locationId: number) => Parameters<typeof localPath>[1]
  readonly programs: Pick<RecipePrograms, 'ask'>
  /** Nothing is stored. */
  readonly readOnly: () => boolean
}

/** Questions that are asked at the same time: the rest waits here, not among the calls of the plugin. */
const atOnce = 4

export type AskRecipes = (actor: Actor, questions: readonly Question[]) => Promise<ReadonlyMap<Question, RecipeAnswer>>

/**
 * Asks recipes about files, as far as it was not asked before. What fails is in the log, and is asked again the next time.
 * Callers wait for the answers, so these programs go first; they end with the caller.
 */
export function createAnswers(deps: AnswerDeps): AskRecipes {
  const { db, events, readOnly } = deps
  return async (actor, questions) => {
    if (questions.length === 0) return new Map()
    const files = new Map(
      (await readFiles(db, [...new Set(questions.map(({ fileId }) => fileId))])).map((file) => [file.id, file]),
    )
    const known = await findAnswers(db, [...files.keys()])
    const answers = new Map<Question, RecipeAnswer>()
    const open: { readonly question: Question; readonly original: FileVersion; readonly print: string }[] = []
    for (const question of questions) {
      const file = files.get(question.fileId)
      if (!file) continue
      const original = originalOf(file)
      const print = printOf(question.program)
      const value = known.get(`${file.id} ${question.program.name} ${print} ${original.sha256}`)
      if (value) answers.set(question, { kind: 'said', value })
      else open.push({ question, original, print })
    }
    if (open.length === 0) return answers
    const fresh: NewAnswer[] = []
    using waiting = signalOf(currentDeadline())
    try {
      await eachOf(open, async ({ question, original, print }) => {
        const answer = await ask(deps, question, original, waiting.signal)
        answers.set(question, answer)
        if (answer.kind === 'failed') return
        const { fileId, program } = question
        fresh.push({ fileId, recipe: program.name, question: print, madeOf: original.sha256, answer: answer.value })
      })
    } finally {
      // Each may have taken long: those that are there stay also where others were given up.
      if (fresh.length > 0 && !readOnly()) await putAnswers(db, fresh)
    }
    const failures = open.flatMap(({ question }) => {
      const answer = answers.get(question)
      return answer?.kind === 'failed' ? [{ question, reason: answer.reason }] : []
    })
    if (failures.length > 0 && !readOnly()) {
      await events.append(
        db,
        failures.map(({ question: { fileId, program }, reason }) => ({
          type: 'FILE_METADATA_ERROR' as const,
          actor,
          basetype: 'file',
          objectId: fileId,
          info: { recipe: program.name, receipt: { status: 'failed', reason } },
        })),
      )
    }
    return answers
  }
}

async function ask(
  { folders, storeOf, programs }: AnswerDeps,
  { program, problemIn }: Question,
  original: FileVersion,
  signal: AbortSignal,
): Promise<RecipeAnswer> {
  try {
    await using folder = await folders.make()
    const path = await localPath(original, storeOf(original.locationId), folder.path)
    const { values } = await programs.ask(program, { path, extension: original.extension }, signal)
    const value = values.reduce<Wire>((all, one) => merged(all, objectIn(one.value)), {})
    assertStorable(value, 'its answer')
    const reason = problemIn(value)
    return reason === null ? { kind: 'said', value } : { kind: 'failed', reason }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof CannotMake) return { kind: 'failed', reason: error.message }
    if (error instanceof AppError && error.status < 500) return { kind: 'failed', reason: error.message }
    throw error
  }
}

type Wire = Readonly<Record<string, unknown>>

/** Groups of several files are put together; what a group says twice is that of the later one. */
function merged(first: Wire, second: Wire): Wire {
  const groups = Object.entries(second).map(([name, group]) => {
    const before = Object.hasOwn(first, name) ? first[name] : undefined
    return [name, isRecord(before) && isRecord(group) ? { ...before, ...group } : group]
  })
  return { ...first, ...Object.fromEntries(groups) }
}

function objectIn(value: unknown): Wire {
  if (isRecord(value)) return value
  throw new CannotMake('unreadable', 'it has written no JSON object')
}

async function eachOf<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = list.values()
  const worker = async (): Promise<void> => {
    for (const one of rest) await work(one)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, worker))
}

function printOf({ name, params, fingerprint }: RecipeProgram): string {
  return createHash('sha256')
    .update(canonicalJson([name, params, fingerprint]))
    .digest('hex')
}
