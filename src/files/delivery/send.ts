import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Delivery, deliver } from './deliver.ts'

export type OpenedDelivery = Delivery & {
  /** Gives back what was made for it. */
  end(): void
  /** Logs that it came to nothing. */
  failed(error: Error): void
}

/**
 * Opens a content for a request and sends it. Whatever was made for it ends with the connection, also where that is closed
 * before the content is there.
 * @param shown how it is delivered; the same, when not said. What this throws is a failure, too
 */
export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (signal: AbortSignal) => Promise<OpenedDelivery>,
  shown: (delivery: OpenedDelivery) => Delivery = (delivery) => delivery,
): Promise<FastifyReply> {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const delivery = await open(gone.signal)
  if (gone.signal.aborted) delivery.end()
  else gone.signal.addEventListener('abort', delivery.end, { once: true })
  try {
    return await deliver(request, reply, shown(delivery))
  } catch (error) {
    delivery.failed(error as Error)
    throw error
  }
}

export const binary = {
  'application/octet-stream': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) },
}

/** What is answered where only a part is wanted, or nothing is new. */
export const partialResponses = {
  206: { description: 'A part of it, for a `Range`.', content: binary },
  304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
  416: { description: 'The range lies behind the end.', content: { 'text/plain': { schema: Type.String() } } },
}
