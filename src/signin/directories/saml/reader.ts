import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SamlConfig as SamlOptions } from '@node-saml/node-saml'
import type { IdentityProvider, SignOutMessage } from './metadata.ts'
import type { OlderAlgorithm } from './policies.ts'

/** A response of a provider, with the data to check it. */
export interface ResponseTask {
  /** The response as it was sent: base64. */
  readonly response: string
  readonly options: SamlOptions
  readonly key: string
  readonly allowed: readonly OlderAlgorithm[]
}

/** The content of the signed assertion. */
export interface SignedAnswer {
  readonly issuer: string
  readonly nameID: string
  readonly nameIDFormat: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
  /** In the form of xml2js, without prefixes. */
  readonly assertion: unknown
}

/** The kinds of reading, each with its input and result. */
export interface Readings {
  metadata(given: { readonly xml: string; readonly entityId: string }): IdentityProvider
  issuer(given: { readonly xml: string }): string
  signOut(given: { readonly xml: string }): SignOutMessage
  response(given: ResponseTask): SignedAnswer
}

export type Reading = {
  readonly [K in keyof Readings]: { readonly kind: K; readonly given: Parameters<Readings[K]>[0] }
}[keyof Readings]

/** The answer of the thread. */
export type Read = { readonly value: unknown } | { readonly error: string }

export interface SamlReaderOptions {
  /** Milliseconds for one text. */
  readonly patience?: number
  /** Maximum number of waiting calls; further ones are refused. */
  readonly waiting?: number
}

/** Milliseconds after which an idle thread ends. */
const rest = 30_000
const megabytes = 256

export type SamlReader = ReturnType<typeof createSamlReader>

/**
 * Reads XML of other servers in a separate thread, one text after the other: a slow text only delays other calls with such texts,
 * and one that takes too long is given up.
 */
export function createSamlReader({ patience = 5000, waiting = 100 }: SamlReaderOptions = {}) {
  let worker: Worker | null = null
  let queue: Promise<unknown> = Promise.resolve()
  let queued = 0
  let idle: NodeJS.Timeout | undefined

  function end(): void {
    void worker?.terminate()
    worker = null
  }

  function started(): Worker {
    if (worker) return worker
    const begun = new Worker(new URL(`./reader-worker${extname(import.meta.url)}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: megabytes },
    })
    // A thread that ends is replaced; its caller learns this from the `exit` event.
    begun.on('error', () => {})
    begun.on('exit', () => {
      if (worker === begun) worker = null
    })
    worker = begun
    return begun
  }

  async function work(reading: Reading): Promise<unknown> {
    clearTimeout(idle)
    const thread = started()
    thread.ref()
    const { promise, resolve, reject } = Promise.withResolvers<Read>()
    const late = setTimeout(() => reject(new Error(`the XML is not read within ${patience} ms`)), patience)
    const gone = (): void => reject(new Error('the XML cannot be read'))
    thread.once('message', resolve).once('exit', gone)
    try {
      thread.postMessage(reading)
      const read = await promise
      if ('error' in read) throw new Refused(read.error)
      return read.value
    } catch (error) {
      if (!(error instanceof Refused)) end()
      throw error
    } finally {
      clearTimeout(late)
      thread.off('message', resolve).off('exit', gone)
      thread.unref()
      idle = setTimeout(end, rest).unref()
    }
  }

  /** @throws {Error} with the reason, or because it takes too long */
  return async function read<K extends keyof Readings>(
    kind: K,
    given: Parameters<Readings[K]>[0],
  ): Promise<ReturnType<Readings[K]>> {
    if (queued >= waiting) throw new Error('too many messages are being read')
    queued++
    const result = queue.then(() => work({ kind, given } as Reading))
    queue = result.catch(() => {})
    try {
      return (await result) as ReturnType<Readings[K]>
    } finally {
      queued--
    }
  }
}

/** The text was read, but is invalid. */
class Refused extends Error {}
