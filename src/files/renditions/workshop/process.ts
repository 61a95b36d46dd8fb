/**
 * A process that works on media, started by the service (workers.ts): whatever a hostile file does to it, it does to
 * nobody else. It knows no passwords and no database.
 */
import sharp from 'sharp'
import { derive } from './derive.ts'
import { embedded, readTags, strip } from './exiftool.ts'
import { CannotMake, reasonOf } from './failure.ts'
import { makePictures } from './pictures.ts'
import { cutRegion } from './region.ts'
import { makeSized } from './sized.ts'
import type { Answer, Failure, Order } from './tasks.ts'
import { readText } from './text.ts'

// Of what libvips does not trust only drawings, and only from memory, where they can name nothing beside them.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] })
sharp.cache(false)
sharp.concurrency(1)

function work({ task, limits }: Order) {
  if (task.kind === 'pictures') return makePictures(task, limits.pixels)
  if (task.kind === 'text') return readText(task)
  if (task.kind === 'tags') return readTags(task, limits)
  if (task.kind === 'strip') return strip(task, limits)
  if (task.kind === 'embedded') return embedded(task, limits)
  if (task.kind === 'derive') return derive(task, limits.pixels)
  if (task.kind === 'sized') return makeSized(task, limits.pixels)
  return cutRegion(task, limits.pixels)
}

function failureOf(error: unknown): Failure {
  const reason = reasonOf(error)
  if (!(error instanceof CannotMake)) return { kind: 'unreadable', reason }
  const { kind, needs, late } = error
  return { kind, reason, needs, late }
}

process.on('message', (order: Order) => {
  const answer = (message: Answer): void => void process.send?.(message)
  work(order).then(
    (result) => answer({ id: order.id, result }),
    (error: unknown) => answer({ id: order.id, failure: failureOf(error) }),
  )
})
// The service has gone.
process.on('disconnect', () => process.exit(0))
