import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { whenClosed } from '../../platform/limits/when-closed.ts'
import { type Delivery, deliver } from './deliver.ts'

export type OpenedDelivery = Delivery & {
  /** Frees the resources of this delivery. */
  end(): void
  /** Logs that the delivery failed. */
  failed(error: Error): void
}

/**
 * Opens a content for a request and sends it. The resources of the delivery are freed when the connection closes, also
 * where it closes before the content is ready.
 * @param shown changes how it is delivered; by default, nothing. An error thrown here is logged as a failure, too
 */
export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (signal: AbortSignal) => Promise<OpenedDelivery>,
  shown: (delivery: OpenedDelivery) => Delivery = (delivery) => delivery,
): Promise<FastifyReply> {
  const gone = new AbortController()
  whenClosed(reply.raw, () => gone.abort())
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

/** The documented answers for a part, and for a content that has not changed. */
export const partialResponses = {
  206: { description: 'A part of it, for a `Range`.', content: binary },
  304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
}
