import { parentPort } from 'node:worker_threads'
import { issuerIn, readIdentityProvider, readSignOutMessage } from './metadata.ts'
import type { Read, Reading } from './reader.ts'
import { readResponse } from './response.ts'

/** Reads one text at a time, and returns the result or the reason of a failure. */
parentPort?.on('message', (reading: Reading) => {
  read(reading).then(
    (value) => parentPort?.postMessage({ value } satisfies Read),
    (error: unknown) => parentPort?.postMessage({ error: messageOf(error) } satisfies Read),
  )
})

async function read({ kind, given }: Reading): Promise<unknown> {
  if (kind === 'metadata') return readIdentityProvider(given.xml, given.entityId)
  if (kind === 'issuer') return issuerIn(given.xml)
  if (kind === 'signOut') return readSignOutMessage(given.xml)
  return readResponse(given)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message
}
