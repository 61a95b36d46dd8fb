import type { HttpApp } from '../platform/http.ts'
import { registerLocationRoutes } from './locations/routes.ts'
import type { FileService } from './service.ts'

export function registerFileRoutes(http: HttpApp, { files }: { files: FileService }): void {
  registerLocationRoutes(http, { locations: files.locations })
}
