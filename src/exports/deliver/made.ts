/** Files that a plugin makes for a download. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { CallbackFailed } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import { Spool } from '../../platform/memory/spool.ts'
import { type ExportPrograms, NoPlace } from '../../plugins/service.ts'
import { type ExportFile, pathOf } from '../model.ts'
import { pluginOf } from '../run/formats.ts'
import { type DocumentDeps, documentOf } from '../run/plugin-document.ts'
import type { Fetched } from './model.ts'

export interface MakingDeps extends DocumentDeps {
  readonly plugins: Pick<ExportPrograms, 'make'>
}

/** Most bytes of one file of a plugin. */
const mostBytes = 1_000_000_000
/** Bytes at its beginning that are also kept in memory. */
const headBytes = 8192

/**
 * Has the plugin make a file, completely, before any of it is delivered: so its length is known, and a failure gets an
 * error status. The caller must call `end` afterwards.
 * @throws {AppError} the refusal of the plugin, `FileVersionNotAvailable` where it fails
 */
export async function makeFile(
  deps: MakingDeps,
  { stored, runId, owner, request }: Fetched,
  file: ExportFile & { readonly action: string },
  signal: AbortSignal,
) {
  const name = pluginOf(stored.body) ?? ''
  const spool = new Spool()
  const end = (): void => void spool[Symbol.asyncDispose]().catch(() => {})
  const hash = createHash('sha256')
  const take = async (output: Readable) => {
    const head: Buffer[] = []
    for await (const piece of output as AsyncIterable<Buffer>) {
      if (spool.bytes < headBytes) head.push(piece)
      hash.update(piece)
      await spool.write(piece)
      if (spool.bytes > mostBytes) throw new CallbackFailed(`said more than ${mostBytes} bytes`)
    }
    return { size: spool.bytes, head: Buffer.concat(head) }
  }
  const document = () => documentOf(deps, { stored, runId, owner })
  const call = { name, actor: owner, document, action: file.action, signal, ...(request ? { request } : {}) }
  try {
    await outsideDeadlines(() => deps.plugins.make(call, take))
  } catch (error) {
    end()
    signal.throwIfAborted()
    throw asAppError(error as Error, name, pathOf(file))
  }
  const size = spool.bytes
  return {
    version: { sha256: hash.digest('hex'), mimeType: file.mimeType, createdAt: new Date() },
    ready: async () => ({
      size,
      store: {
        read: async (_: string, range?: { readonly start: number; readonly end: number }) =>
          Readable.from(spool.read(range), { objectMode: false }),
      },
    }),
    end,
  }
}

function asAppError(error: Error, name: string, path: string): Error {
  const message = `The plugin ${name} ${error.message}.`
  if (error instanceof NoPlace) return new AppError('ServiceUnavailable', {}, { message, cause: error })
  // There is no space for it.
  if ('syscall' in error) return new AppError('ServiceUnavailable', {}, { cause: error })
  if (error instanceof CallbackFailed)
    return new AppError('FileVersionNotAvailable', { path }, { message, cause: error })
  return error
}
