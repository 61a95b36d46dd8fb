import type { OpenApiDocument } from '../src/system/openapi/model.ts'
import { type Caller, caller, signIn } from './caller.ts'
import { type DescribedOperation, type Description, readDescription } from './description.ts'
import { rightsOf } from './gained.ts'
import { addHolders, isHolder } from './holders.ts'
import { moreSeeds } from './more-seeds.ts'
import type { FuzzRequest } from './request.ts'
import { type Scene, type Seed, type SeedRequest, seeds } from './seeds.ts'
import { type Beginning, dropBeginning, type FuzzedService, rootPassword, startFuzzedService } from './service.ts'
import { buildWorld, password, type World } from './world.ts'

/** The callers of an epoch, and the data for seeds. */
export interface Stage extends AsyncDisposable {
  service: FuzzedService
  callers: Record<'root' | 'limited' | 'masked' | 'nobody', Caller>
  scene: Scene
  /** The caller of that name, signed in at the first call; null when they can no longer sign in. */
  called(name: string): Promise<Caller | null>
  /** The next call signs in again. */
  signedOut(name: string): void
  /** A valid request: the first one, or that of another use of the operation. */
  seedOf(operation: DescribedOperation, use?: number): Promise<{ request: SeedRequest; own: Caller }>
  /** The seed was used up: the next call makes a new one. */
  forget(operationId: string, use: number): void
}

export interface Origin extends AsyncDisposable {
  world: World
  description: Description
  stage(): Promise<Stage>
  /** Adds callers with one right each to the world. */
  addHolders(): Promise<void>
}

/** Makes the world once; every epoch begins with a copy of it. */
export async function startOrigin(settings: Readonly<Record<string, string>> = {}): Promise<Origin> {
  const service = await startFuzzedService()
  let world: World
  let document: OpenApiDocument
  try {
    const root = await signIn(service.url, 'root', rootPassword)
    world = await buildWorld(root)
    document = await root.call('GET', '/system/openapi/spec.json')
  } finally {
    // A database with connections cannot be copied.
    await service[Symbol.asyncDispose]()
  }
  const description = readDescription(document)
  let beginning: Beginning = service
  return {
    world,
    description,
    stage: async () => setStage(await startFuzzedService(beginning, settings), world),
    async addHolders() {
      const next = await startFuzzedService(beginning)
      try {
        const root = await signIn(next.url, 'root', rootPassword)
        world.holders = await addHolders(root, world)
        world.rights = await rightsOf(root, world, world.holders)
      } finally {
        await next[Symbol.asyncDispose]()
      }
      await dropBeginning(beginning)
      beginning = next
    },
    [Symbol.asyncDispose]: () => dropBeginning(beginning),
  }
}

async function setStage(service: FuzzedService, world: World): Promise<Stage> {
  const { url } = service
  const callers = {
    root: await signIn(url, 'root', rootPassword),
    limited: await signIn(url, 'limited', password),
    masked: await signIn(url, 'masked', password),
    nobody: caller(url, 'nobody', null),
  }
  let last = 0
  const scene: Scene = {
    world,
    root: callers.root,
    masked: callers.masked,
    fresh: () => ++last,
    signIn: (login, word) => signIn(url, login, word),
  }
  const holders = new Map<string, Promise<Caller | null>>()
  const made = new Map<string, { request: SeedRequest; own: Caller; uses: number }>()
  return {
    service,
    callers,
    scene,
    async called(name) {
      if (!isHolder(name)) return Object.values(callers).find((one) => one.name === name) ?? callers.nobody
      const known = holders.get(name) ?? signIn(url, name, password).catch(() => null)
      holders.set(name, known)
      return known
    },
    signedOut: (name) => void holders.delete(name),
    async seedOf({ operationId }, use = 0) {
      const key = `${operationId} ${use}`
      const known = made.get(key)
      if (known && known.uses++ < 8) return known
      const seed = seedsOf(operationId)[use]
      if (!seed) throw new Error(`${operationId} has no seed: add a valid request of it to fuzz/seeds.ts`)
      const request = await seed.make(scene)
      const next = { request, own: request.by ?? callers.root, uses: 0 }
      made.set(key, next)
      return next
    },
    forget: (operationId, use) => void made.delete(`${operationId} ${use}`),
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      await dropBeginning(service)
    },
  }
}

/** The valid requests of an operation, by their use. */
export function seedsOf(operationId: string): readonly Seed[] {
  const first = seeds[operationId]
  return first ? [first, ...(moreSeeds[operationId] ?? [])] : []
}

/** The request of a seed, as this caller sends it. */
export function assembled(operation: DescribedOperation, seed: SeedRequest, by: Caller): FuzzRequest {
  const texts = (map: Record<string, string | number> = {}) =>
    Object.entries(map).map(([name, value]): [string, string] => [name, String(value)])
  const type = Object.keys(operation.requestBody?.content ?? {})[0]
  return {
    operationId: operation.operationId,
    method: operation.method,
    template: operation.template,
    path: Object.fromEntries(texts(seed.path)),
    query: texts(seed.query),
    headers: { ...(by.token === null ? {} : { authorization: `Bearer ${by.token}` }), ...seed.headers },
    body: seed.body,
    type: type === 'application/x-www-form-urlencoded' ? type : 'application/json',
    late: [],
  }
}
