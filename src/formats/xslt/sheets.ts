import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import { createRequestLimiter } from '../../platform/limits/request-limiter.ts'

export interface SheetTask {
  readonly sheet: string
  /** Null: only check whether it is a style sheet. */
  readonly xml: string | null
  /** A sheet that is applied to the output of the first one. */
  readonly next?: string | undefined
  /** Bytes. */
  readonly memory: number
}

/** Of the thread. */
export type SheetAnswer = { readonly text: string } | { readonly error: string }

export interface SheetLimits {
  /** Milliseconds. */
  readonly time: number
  /** Bytes. */
  readonly memory: number
}

const usual: SheetLimits = { time: 30_000, memory: 512 * 1024 * 1024 }
/** Bytes of a sheet, and characters of a document for it. */
export const largestSheet = 2_000_000
export const largestDocument = 64_000_000

/** Characters of a failing sheet's message that are kept. */
const longestMessage = 500

const limiter = createRequestLimiter({ concurrency: 2, patience: 120_000 })

/** Applies the sheet to the document. @throws {AppError} `ServerGeneric` when it fails, or takes too much time or memory */
export function transform(
  { name, sheet, xml, next }: { readonly name: string; readonly xml: string } & Pick<SheetTask, 'sheet' | 'next'>,
  deadline: Deadline,
  limits: SheetLimits = usual,
): Promise<string> {
  if (xml.length > largestDocument) {
    const most = { xslt: name, most: largestDocument }
    throw badRequest(`the document is too large for the style sheet ${name}: ask for fewer objects`, most)
  }
  return limiter.run(deadline, () => run(name, { sheet, xml, next, memory: limits.memory }, limits.time, deadline))
}

/** Milliseconds; compiling is quick unless something is wrong. */
const checkTime = 5000

/** The error of the text as a style sheet, or of its application to a small document; null: there is none. */
export async function sheetProblem(sheet: string, xml: string | null = null): Promise<string | null> {
  if (sheet.length > largestSheet) return `a style sheet has ${largestSheet} characters at most`
  const version = versionOf(sheet)
  if (version === null) return 'the document is no style sheet: its root is not xsl:stylesheet with a version'
  if (version !== '1.0' && version !== '1.1') return `style sheets are written in XSLT 1.0, this one in ${version}`
  try {
    await run('', { sheet, xml, memory: usual.memory }, checkTime, null)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** Names of files that may be style sheets. */
export const isSheetName = (extension: string): boolean => ['xsl', 'xslt'].includes(extension.toLowerCase())

/** The version in the root element; null: it is not a style sheet. */
function versionOf(sheet: string): string | null {
  const start = /<(?:[A-Za-z_][\w.-]{0,50}:)?(?:stylesheet|transform)\s/.exec(sheet)
  if (!start) return null
  const tag = sheet.slice(start.index, sheet.indexOf('>', start.index))
  return /\sversion\s{0,20}=\s{0,20}["']([\w.]{1,10})["']/.exec(tag)?.[1] ?? null
}

async function run(name: string, task: SheetTask, time: number, deadline: Deadline | null): Promise<string> {
  const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
    env: {},
  })
  const { promise, resolve } = Promise.withResolvers<SheetAnswer>()
  const timer = setTimeout(() => resolve({ error: `it takes more than ${time / 1000} seconds` }), time)
  const forget = deadline?.onOver(() => resolve({ error: 'nobody waits for it any more' }))
  worker.once('message', resolve)
  worker.once('error', (error: Error) => resolve({ error: error.message }))
  worker.once('exit', () => resolve({ error: 'it ended without a result' }))
  try {
    const answer = await promise
    deadline?.check()
    if ('text' in answer) return answer.text
    const reason = answer.error.replace(/\s+/g, ' ').trim().slice(0, longestMessage)
    throw badRequest(`the style sheet${name === '' ? '' : ` ${name}`} fails: ${reason}`, { xslt: name, reason })
  } finally {
    clearTimeout(timer)
    forget?.()
    await worker.terminate()
  }
}
