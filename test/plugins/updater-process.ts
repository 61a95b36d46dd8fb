/** A service on a database, in a process of its own, that brings values up to date as at that time: for a test that kills it. */
import { attachService } from '../support/service.ts'

const [dsn = '', at = ''] = process.argv.slice(2)
const svc = await attachService(dsn)
await svc.app.tidy(new Date(at))
await svc[Symbol.asyncDispose]()
