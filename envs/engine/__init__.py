"""envs/engine"""
